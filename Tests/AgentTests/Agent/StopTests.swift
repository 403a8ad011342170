import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The changes and edits that an agent's exit, by a signal or a crash, must not lose.
@Suite("An agent's exit", .enabled(if: ForeignProcess.hasPython))
struct StopTests {
    private static let domain = "org.example.app"

    /// Starts a program that reads the file and, when told to, writes it back with a key of its own.
    private func writer(_ path: String, opening: String) throws -> ForeignProcess {
        let script = """
            import os, plistlib, sys
            path, way = sys.argv[1:]
            if way == "in place":
                file = open(path, "r+b")
                values = plistlib.load(file)
            else:
                with open(path, "rb") as source: values = plistlib.load(source)
            print("read", flush=True)
            sys.stdin.readline()
            values["theirs"] = 1
            if way == "in place":
                file.seek(0)
                file.truncate()
                plistlib.dump(values, file)
                file.close()
            else:
                with open(path + ".new", "wb") as target: plistlib.dump(values, target)
                os.replace(path + ".new", path)
            print("written", flush=True)
            """
        let process = try ForeignProcess(python: script, [path, opening])
        #expect(process.line() == "read")
        return process
    }

    private func values(_ place: AgentProcess.Place) -> PropertyListValue? {
        (try? RawFile.read(place.path(Self.domain))).flatMap { try? PropertyListValue(parsing: $0) }
    }

    private static let merged: PropertyListValue = ["old": "1", "mine": "1", "theirs": 1]

    @Test(
        "A program that holds an old version across an agent's exit keeps its change, and edits stay",
        arguments: [SIGTERM, SIGKILL], ["in place", "by renaming"])
    func openWriter(signal: Int32, way: String) throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            #expect(try first.defaults("write", Self.domain, "old", "1").status == 0)
            let writer = try writer(place.path(Self.domain), opening: way)
            #expect(try first.defaults("write", Self.domain, "mine", "1").status == 0)
            if signal == SIGTERM { #expect(first.terminate() == 0) } else { first.kill() }

            // Two restarts, so that the displaced version outlives more than one exit.
            let second = try AgentProcess(place)
            if signal == SIGTERM { #expect(second.terminate() == 0) } else { second.kill() }
            let third = try AgentProcess(place)
            defer { third.kill() }
            try writer.send("write")
            #expect(writer.line() == "written")
            #expect(eventually { values(place) == Self.merged }, "\(String(describing: values(place)))")
            #expect(try third.defaults("read", Self.domain, "mine").output == "1\n")
            // Nothing is left but the file.
            #expect(eventually(within: 30) { place.files + place.hiddenVersions == ["\(Self.domain).plist"] })
        }
    }

    @Test("A write to a displaced version after the agent's exit is kept as a backup copy")
    func nobodyLeft() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place)
            #expect(try agent.defaults("write", Self.domain, "old", "1").status == 0)
            let writer = try writer(place.path(Self.domain), opening: "in place")
            #expect(try agent.defaults("write", Self.domain, "mine", "1").status == 0)
            #expect(agent.terminate() == 0)
            try writer.send("write")
            #expect(writer.line() == "written")
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let outcome = try Programs.run(
                Programs.defaults, ["write", Self.domain, "next", "1"], environment: environment)
            #expect(outcome.status == 0)
            let copy = place.path(Self.domain) + ".displaced-1"
            #expect(outcome.errors.contains(copy))
            #expect(try PropertyListValue(parsing: RawFile.read(copy)) == ["old": "1", "theirs": 1])
        }
    }

    @Test("Every edit that was sent before the agent stopped reading is saved, although its client reads no answers")
    func sentEdits() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let client = try RawClient.greeted(place.socket)
            var sent = 0
            // This ends when the agent has stopped reading, or closes the connection.
            while sent < 1_000_000 {
                if sent == 100 { agent.signal(SIGTERM) }
                let edit = EditRequest(
                    domain: Domain(try DomainName(Self.domain)), values: ["key\(sent)": .integer(1)], writer: .file,
                    identity: EditIdentity(session: 1, number: UInt64(sent + 1)))
                let request = NumberedRequest(number: UInt64(sent + 2), request: .edit(edit))
                guard (try? client.send(request.fields)) != nil else { break }
                sent += 1
            }
            #expect(agent.status(within: 60) == 0)
            let saved = if case .dictionary(let saved)? = values(place) { saved.count } else { 0 }
            #expect(saved == sent)
        }
    }

    @Test(
        "A limit on the size of files kills neither the agent, nor an app, nor the command")
    func fileSizeLimit() throws {
        let limited = ["/bin/sh", "-c", "ulimit -f 24; exec \"$0\" \"$@\""]
        try AgentProcess.withPlace { place in
            let alone = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            let large = String(repeating: "x", count: 100_000)
            let script = "ulimit -f 24; exec \"$0\" \"$@\""
            let command = try Programs.run(
                limited[0], ["-c", script, Programs.defaults, "write", Self.domain, "a", large], environment: alone)
            #expect(command.status == 74)
            #expect(command.errors.hasPrefix("defaults: "))
            let app = try Programs.run(
                limited[0], ["-c", script, Programs.liveWriter, Self.domain, large, "1"], environment: alone)
            #expect(app.status < 128, "\(app.errors)")

            let agent = try AgentProcess(place, launcher: limited)
            defer { agent.kill() }
            #expect(try agent.defaults("write", Self.domain, "a", large).status == 74)
            #expect(agent.isRunning)
            #expect(try agent.defaults("write", "org.example.other", "a", "1").status == 0)
        }
    }
}
