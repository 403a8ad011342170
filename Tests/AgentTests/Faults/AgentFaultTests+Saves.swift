import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Saves that are stopped or killed at one call, or whose file can't be read once, as `.ci/explore` has found them.
extension AgentFaultTests {
    /// Stops the agent in a save, at a call on the temporary file or another one, lets another program act, and
    /// continues the agent.
    private func whileStopped(
        in call: String, at spot: Spot = .temporary, expecting expected: DomainValues = Self.after,
        prepare: (AgentProcess.Place) throws -> Void = { _ in },
        _ body: (AgentProcess.Place) throws -> Void, check: (AgentProcess.Place) throws -> Void = { _ in }
    ) throws {
        try withAgent { agent in
            try prepare(agent.place)
            try agent.synchronize()
            let fault = try AttachedFault(agent.pid, at: spot.paths(in: agent.place), "\(call):signal=STOP:when=1")
            defer { fault.end() }
            try edit(agent)
            try withBackgroundThread { [place = agent.place] _ in
                _ = try? place.connect().barrier()
            } while: {
                let status = "/proc/\(agent.pid)/status"
                let isStopped = eventually {
                    let text = (try? RawFile.read(status)).map { String(decoding: $0, as: UTF8.self) }
                    return text?.contains("State:\tT") == true || text?.contains("State:\tt") == true
                }
                #expect(isStopped)
                try body(agent.place)
                agent.signal(SIGCONT)
            }
            fault.end()
            try agent.synchronize()
            #expect(try values(agent.place) == expected)
            agent.terminate()
            #expect(try values(agent.place) == expected && agent.place.hiddenVersions == [])
            try check(agent.place)
        }
    }

    @Test("If the directory is replaced by a copy with an incomplete new version, that doesn't become the file")
    func copiedDirectory() throws {
        for call in ["write", "fsetxattr", "flock"] {
            try whileStopped(in: call) { place in
                let outcome = try Programs.shell(
                    "cp -a p copy && mv p former && mv copy p", in: place.root, environment: [:])
                #expect(outcome.status == 0, "\(call): \(outcome)")
            }
        }
    }

    @Test("Permissions that are changed during a save are those of the new version")
    func changedPermissions() throws {
        for call in ["write", "fsync"] {
            try whileStopped(in: call) { place in
                #expect(chmod(place.path(Self.domain), 0o640) == 0)
            } check: { place in
                let mode = try RawFile.status(place.path(Self.domain)).st_mode & 0o777
                #expect(mode == 0o640, "\(call)")
            }
        }
    }

    @Test("An edit gets into the file that replaces a link, or a file with several names, while it is saved")
    func replacedMeanwhile() throws {
        let bytes = try PropertyListValue.dictionary(Self.before).write(as: .xml)
        func link(_ place: AgentProcess.Place) {
            let path = place.path(Self.domain)
            #expect(rename(path, place.preferences + "/real") == 0 && symlink("real", path) == 0)
        }
        try whileStopped(in: "fsync", prepare: link) { try RawFile.replace($0.path(Self.domain), with: bytes) }
        // A link that is removed after the save takes the edit with it.
        try whileStopped(in: "fsync", at: .directory, expecting: [:], prepare: link) { unlink($0.path(Self.domain)) }
        try whileStopped(
            in: "fsync", at: .file,
            prepare: { place in
                #expect(Glibc.link(place.path(Self.domain), place.preferences + "/second") == 0)
            }
        ) { try RawFile.replace($0.path(Self.domain), with: bytes) }
    }

    @Test("A crash before the first byte is written in place loses no acknowledged edit")
    func crashInPlace() throws {
        try withAgent { agent in
            let path = agent.place.path(Self.domain)
            #expect(link(path, agent.place.root + "/second") == 0)
            let fault = try AttachedFault(agent.pid, at: [path], "write:signal=KILL:when=1")
            try edit(agent)
            try? agent.synchronize()
            fault.end(afterDeath: true)
            #expect(try values(agent.place) == Self.before)
            let next = try AgentProcess(agent.place)
            defer { next.kill() }
            try next.synchronize()
            #expect(try values(agent.place) == Self.after)
        }
    }

    @Test("If the file can't be read for a moment, a save keeps its comments all the same", arguments: 1...4)
    func unreadable(number: Int) throws {
        try withAgent { agent in
            let path = agent.place.path(Self.domain)
            let text = String(decoding: try RawFile.read(path), as: UTF8.self)
            try RawFile.replace(path, with: Array(text.replacing("</dict>", with: "<!-- kept -->\n</dict>").utf8))
            try agent.synchronize()
            let fault = try AttachedFault(agent.pid, at: [path], "openat:error=ESTALE:when=\(number)")
            try edit(agent)
            try? agent.synchronize()
            fault.end()
            #expect(fault.tookEffect)
            try agent.synchronize()
            #expect(try values(agent.place) == Self.after)
            #expect(String(decoding: try RawFile.read(path), as: UTF8.self).contains("<!-- kept -->"))
        }
    }
}
