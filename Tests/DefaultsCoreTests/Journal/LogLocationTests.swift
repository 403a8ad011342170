import DefaultsCore
import Glibc
import TestSupport
import Testing

@Suite("Paths of the change log")
struct LogLocationTests {
    private func location(_ directory: PreferencesDirectory, _ variables: [String: String]) throws -> LogLocation {
        let environment = Environment(variables.merging(["XDG_RUNTIME_DIR": "/run/me"]) { $1 })
        let address = try AgentAddress(for: directory, environment: environment)
        return LogLocation(for: directory, socketAt: address.socketPath, environment: environment)
    }

    @Test("The log of the default directory is in the state directory, and that of a named directory beside its socket")
    func places() throws {
        let usual = PreferencesDirectory(path: "/home/me/.config", isExplicit: false)
        let inHome = try location(usual, ["HOME": "/home/me"])
        #expect(inHome.log.hasPrefix("/home/me/.local/state/defaultsd/") && inHome.log.hasSuffix(".log"))
        #expect(inHome.archive.hasPrefix("/home/me/.local/state/defaultsd/") && inHome.archive.hasSuffix(".archive"))
        let inState = try location(usual, ["HOME": "/home/me", "XDG_STATE_HOME": "/state"])
        #expect(inState.log.hasPrefix("/state/defaultsd/"))
        #expect(try location(usual, ["HOME": "/home/me", "XDG_STATE_HOME": "state"]) == inHome)
        #expect(inHome.fallback?.log.hasPrefix("/run/me/defaultsd/socket.") == true)
        // An agent for another directory has another log, even at the same socket.
        let named = try ["/one", "/other"].map { path in
            try location(PreferencesDirectory(path: path), ["HOME": "/home/me"])
        }
        #expect(named[0] != named[1])
        #expect(named.allSatisfy { $0.log.hasPrefix("/run/me/defaultsd/") && $0.fallback == nil })
    }

    @Test("The state directory is made for the user alone")
    func directory() throws {
        try withTemporaryDirectory { path in
            let usual = PreferencesDirectory(path: path, isExplicit: false)
            let location = try location(usual, ["XDG_STATE_HOME": path + "/a/b"])
            try location.makeDirectory()
            try location.makeDirectory()
            #expect(try RawFile.status(path + "/a/b/defaultsd").st_mode & 0o7777 == 0o700)
        }
    }
}
