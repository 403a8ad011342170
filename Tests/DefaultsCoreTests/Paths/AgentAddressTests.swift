import DefaultsCore
import Glibc
import TestSupport
import Testing

@Suite("Agent address")
struct AgentAddressTests {
    private func find(
        option: String? = nil, _ variables: [String: String],
        directory: PreferencesDirectory = .init(path: "/d", isExplicit: false)
    ) throws -> AgentAddress {
        try AgentAddress(option: option, for: directory, environment: Environment(variables))
    }

    @Test("The socket comes from the option, then DEFAULTSD_SOCKET, then the runtime directory")
    func precedence() throws {
        let variables = ["DEFAULTSD_SOCKET": "/s/named", "XDG_RUNTIME_DIR": "/run/me"]
        #expect(try find(option: "/s/option", variables).socketPath == "/s/option")
        let named = try find(variables)
        #expect(named.socketPath == "/s/named")
        #expect(named.isExplicit)
        let usual = try find(["XDG_RUNTIME_DIR": "/run/me"])
        #expect(usual.socketPath == "/run/me/defaultsd/socket")
        #expect(usual.directoryPath == "/run/me/defaultsd")
        #expect(!usual.isExplicit)
        #expect(try find(["XDG_RUNTIME_DIR": "relative"]).socketPath.hasPrefix("/"))
        #expect(try find(option: "s", [:]).socketPath.hasPrefix("/"))
    }

    @Test("An explicitly named directory has its own agent, even through a link")
    func namedDirectory() throws {
        try withTemporaryDirectory { path in
            try RawFile.makeDirectory(path + "/real")
            symlink("real", path + "/link")
            let variables = ["XDG_RUNTIME_DIR": "/run/me"]
            let real = try find(variables, directory: PreferencesDirectory(path: path + "/real"))
            let link = try find(variables, directory: PreferencesDirectory(path: path + "/link"))
            let other = try find(variables, directory: PreferencesDirectory(path: path))
            #expect(real == link)
            #expect(real != other)
            #expect(real.socketPath.hasPrefix("/run/me/defaultsd/") && real.socketPath.hasSuffix("/socket"))
        }
    }

    @Test("The default directory has the default agent even if it is named explicitly or through a link")
    func usualDirectory() throws {
        try withTemporaryDirectory { path in
            try RawFile.makeDirectory(path + "/.config")
            symlink(".config", path + "/link")
            for variables in [["HOME": path], ["HOME": "/elsewhere", "XDG_CONFIG_HOME": path + "/.config"]] {
                let variables = variables.merging(["XDG_RUNTIME_DIR": "/run/me"]) { $1 }
                for name in [".config", "link", ".config/"] {
                    let named = try find(variables, directory: PreferencesDirectory(path: "\(path)/\(name)"))
                    #expect(named.socketPath == "/run/me/defaultsd/socket")
                }
                let other = try find(variables, directory: PreferencesDirectory(path: path))
                #expect(other.socketPath != "/run/me/defaultsd/socket")
            }
        }
    }

    @Test("A default path that is too long for a socket is an error only for callers that need an agent")
    func longUsualPath() throws {
        let address = try find(["XDG_RUNTIME_DIR": "/" + String(repeating: "x", count: 97)])
        #expect(address.problem?.description.contains("the limit is 103") == true)
        #expect(address.obstacle == address.problem)
        #expect(throws: DefaultsError.self) { try address.makeDirectory() }
        #expect(try find(["XDG_RUNTIME_DIR": "/run/me"]).problem == nil)
    }

    @Test("A link inside the default socket directory is rejected, and its target isn't changed")
    func linkInside() throws {
        try withTemporaryDirectory { path in
            try RawFile.makeDirectory(path + "/victim", mode: 0o755)
            let address = try find(["XDG_RUNTIME_DIR": path], directory: PreferencesDirectory(path: path + "/victim"))
            // The first of the two components, then the second.
            for name in ["/defaultsd", String(address.directoryPath.dropFirst(path.count))] {
                symlink(path + "/victim", path + name)
                for attempt in [address.makeDirectory, address.checkDirectory] as [() throws -> Void] {
                    let error = #expect(throws: DefaultsError.self) { try attempt() }
                    #expect(error?.description.contains("is a link") == true)
                }
                #expect(address.obstacle != nil)
                unlink(path + name)
                if name == "/defaultsd" { try RawFile.makeDirectory(path + name, mode: 0o755) }
            }
            #expect(try RawFile.status(path + "/victim").st_mode & 0o7777 == 0o755)
            #expect(namesOfFiles(in: path + "/victim") == [])
            #expect(address.obstacle == nil, "A missing directory isn't an obstacle.")
            try address.makeDirectory()
            for made in [path + "/defaultsd", address.directoryPath] {
                #expect(try RawFile.status(made).st_mode & 0o7777 == 0o700)
            }
            #expect(address.obstacle == nil)
            guard geteuid() == 0 else { return }
            chown(path + "/defaultsd", 65_534, 65_534)
            let error = #expect(throws: DefaultsError.self) { try address.makeDirectory() }
            #expect(error?.description.contains("belongs to user ID 65534") == true)
        }
    }

    @Test("A path that is too long for a socket is an error", arguments: [(103, true), (104, false)])
    func length(bytes: Int, isTaken: Bool) {
        let path = "/" + String(repeating: "x", count: bytes - 1)
        #expect(((try? find(option: path, [:])) != nil) == isTaken)
    }

    @Test("The socket's directory is created for the user alone and rejected if others may write to it")
    func directory() throws {
        try withTemporaryDirectory { path in
            let address = try find(option: path + "/a/b/socket", [:])
            try address.makeDirectory()
            for made in [path + "/a", path + "/a/b"] { #expect(try RawFile.status(made).st_mode & 0o777 == 0o700) }
            try address.makeDirectory()
            chmod(path + "/a/b", 0o770)
            let error = #expect(throws: DefaultsError.self) { try address.makeDirectory() }
            #expect(error?.description.hasPrefix("Other users may write to the agent's directory") == true)
            chmod(path + "/a/b", 0o700)
            if geteuid() == 0 {
                chown(path + "/a/b", 65_534, 65_534)
                #expect(throws: DefaultsError.self) { try address.checkDirectory() }
            }
            rmdir(path + "/a/b")
            try RawFile.write("", to: path + "/a/b")
            #expect(throws: DefaultsError.self) { try find(option: path + "/a/b/c/socket", [:]).makeDirectory() }
        }
    }
}
