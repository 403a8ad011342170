import DefaultsCore
import Glibc
import ProgramSupport
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// The claims that give a directory and a socket a single agent, whatever namespaces and names they are reached by.
@Suite("Claims of an agent")
struct ClaimTests {
    @Test("A lock file that a power failure has left empty, or full of zeros, doesn't keep an agent from starting")
    func afterPowerFailure() throws {
        try AgentProcess.withPlace { place in
            for bytes in [[], [UInt8](repeating: 0, count: 37)] {
                try RawFile.write(bytes, to: "\(place.preferences)/.defaultsd.agent")
                try RawFile.write(bytes, to: place.socket + ".lock")
                try AgentProcess(place).kill()
            }
        }
    }

    private static let unshare = "/usr/bin/unshare"
    /// Whether the test can create namespaces.
    private static let hasNamespaces = (try? Programs.run(unshare, ["-Urmn", "true"]).status) == 0

    @Test(
        "An agent in another network namespace is refused, and the first keeps its socket",
        .enabled(if: hasNamespaces))
    func networkNamespace() throws {
        try AgentProcess.withAgent { agent in
            for arguments in [[], ["--socket", agent.place.runtime + "/second"]] {
                let outcome = try Programs.run(
                    Self.unshare, ["-Urn", Programs.defaultsd] + arguments, environment: agent.place.environment)
                #expect(outcome.status == 75)
                #expect(outcome.errors.contains("Another agent (pid \(agent.pid)) already serves"), "\(outcome.errors)")
                #expect(outcome.errors.contains("at \(agent.place.socket). For"), "\(outcome.errors)")
                #expect(outcome.errors.split(separator: "\n").count == 1)
            }
            #expect(try agent.defaults("status").status == 0)
        }
    }

    @Test("An agent on a bind mount of a claimed directory is refused", .enabled(if: hasNamespaces))
    func bindMount() throws {
        try AgentProcess.withAgent { agent in
            let other = agent.place.root + "/other"
            try RawFile.makeDirectory(other)
            let script = """
                mount --bind \(agent.place.preferences) \(other)
                exec \(Programs.defaultsd) --directory \(other) --socket \(agent.place.runtime)/second
                """
            let outcome = try Programs.run(
                Self.unshare, ["-Urmn", "/bin/sh", "-ec", script], environment: agent.place.environment)
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("Another agent (pid \(agent.pid)) already serves the directory \(other)"))
        }
    }

    @Test("Claim files are private, name the agent, are not taken for domains, and are removed when it exits")
    func files() throws {
        try AgentProcess.withAgent { agent in
            let files = [agent.place.preferences + "/.defaultsd.agent", agent.place.socket + ".lock"]
            for file in files {
                #expect(try RawFile.status(file).st_mode & 0o7777 == 0o600)
                let lines = String(decoding: try RawFile.read(file), as: UTF8.self).split(separator: "\n")
                #expect(lines.first == "\(agent.pid)" && lines.last == agent.place.socket[...])
            }
            #expect(try agent.defaults("domains").output == "")
            #expect(try agent.status()["errors"] == [])
            #expect(agent.terminate() == 0)
            for file in files { #expect(!RawFile.exists(file)) }
        }
    }

    @Test("An agent takes over the claim files of a killed one")
    func leftover() throws {
        try AgentProcess.withAgent { first in
            first.kill()
            let file = first.place.preferences + "/.defaultsd.agent"
            #expect(RawFile.exists(file))
            let second = try AgentProcess(first.place)
            defer { second.kill() }
            #expect(String(decoding: try RawFile.read(file), as: UTF8.self).hasPrefix("\(second.pid)\n"))
        }
    }

    @Test(
        "A link in place of a claim file is refused, and its target is left alone",
        arguments: ["p/.defaultsd.agent", "r/socket.lock"])
    func link(name: String) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("precious", to: place.root + "/victim")
            symlink(place.root + "/victim", "\(place.root)/\(name)")
            let outcome = try Programs.run(Programs.defaultsd, [], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("\(place.root)/\(name)"))
            #expect(outcome.errors.contains("is another file or belongs to another user"))
            #expect(try RawFile.read(place.root + "/victim") == Array("precious".utf8))
        }
    }

    @Test("A user's own file that has the name of a claim file is left alone")
    func ownFile() throws {
        try AgentProcess.withPlace { place in
            let lock = place.root + "/yarn.lock"
            try RawFile.write("precious", to: lock)
            let outcome = try Programs.run(
                Programs.defaultsd, ["--socket", place.root + "/yarn"], environment: place.environment)
            #expect(outcome.status == 69 && outcome.errors.contains(lock), "\(outcome)")
            #expect(try RawFile.read(lock) == Array("precious".utf8))
        }
    }

    @Test(
        "A directory that isn't writable is served with a warning, and claimed once it is writable",
        .enabled(if: AgentProcess.hasNobody))
    func readOnly() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            try RawFile.write("{one = 1;}", to: place.path("a.b"))
            chmod(place.path("a.b"), 0o644)
            chmod(place.preferences, 0o555)
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            let outcome = try agent.defaults("read", "a.b", "one")
            #expect(outcome.output == "1\n", "\(outcome)")
            // The socket's claim still refuses a second agent.
            let second = AgentProcess.asNobody + [Programs.defaultsd]
            let refused = try Programs.run(second[0], Array(second[1...]), environment: place.environment)
            #expect(refused.status == 75 && refused.errors.contains("serves the socket"), "\(refused)")
            chmod(place.preferences, 0o755)
            let isClaimed = eventually { RawFile.exists(place.preferences + "/.defaultsd.agent") }
            #expect(isClaimed)
            agent.terminate()
            #expect(!RawFile.exists(place.preferences + "/.defaultsd.agent"))
            #expect(agent.complaints().contains("another agent could start on this directory"))
        }
    }

    // MARK: While the agent runs

    /// Expects that another agent, at a socket of its own, is refused on the directory.
    private static func expectRefusal(_ place: AgentProcess.Place, of pid: pid_t) throws {
        let second = try RunningProgram(
            Programs.defaultsd, ["--socket", place.runtime + "/second"], environment: place.environment)
        #expect(second.status() == 75)
        let errors = second.complaints()
        #expect(errors.contains("Another agent (pid \(pid)) already serves the directory"), "\(errors)")
    }

    @Test(
        "A directory that was replaced, or whose claim was removed, is claimed again",
        arguments: ["mv p q; mkdir p", "mv p q; cp -r q p", "rm p/.defaultsd.agent", "mv p q; ln -s q p"])
    func claimedAgain(script: String) throws {
        try AgentProcess.withAgent { agent in
            try Programs.shell(script, in: agent.place.root)
            let directory = PreferencesDirectory(path: agent.place.preferences)
            let isClaimed = eventually { AgentClaim.holder(ofDirectory: directory)?.pid == agent.pid }
            #expect(isClaimed)
            try Self.expectRefusal(agent.place, of: agent.pid)
            #expect(try agent.defaults("write", "a.b", "k", "v").status == 0)
            #expect(agent.terminate() == 0)
            #expect(!RawFile.exists(agent.place.preferences + "/.defaultsd.agent"))
        }
    }

    @Test(
        "An agent exits when its directory is replaced by one that another agent serves",
        .enabled(if: ForeignProcess.hasPython))
    func lost() throws {
        try AgentProcess.withAgent { agent in
            try RawFile.makeDirectory(agent.place.root + "/other")
            let other = try Self.lockHolder(of: agent.place.root + "/other/.defaultsd.agent", "O_RDWR | os.O_CREAT")
            try Programs.shell("mv p q; mv other p", in: agent.place.root)
            #expect(agent.status(within: 20) == 0)
            #expect(!RawFile.exists(agent.place.socket))
            #expect(agent.complaints().contains("already serves the directory \(agent.place.preferences)"))
            withExtendedLifetime(other) {}
        }
    }

    @Test("A claim file whose permissions are widened becomes private again")
    func widened() throws {
        try AgentProcess.withAgent { agent in
            let file = agent.place.preferences + "/.defaultsd.agent"
            chmod(file, 0o644)
            let isPrivate = try eventually { try RawFile.status(file).st_mode & 0o7777 == 0o600 }
            #expect(isPrivate)
        }
    }

    @Test(
        "A leftover claim file that others could open, and that one of them has locked, is replaced",
        .enabled(if: ForeignProcess.hasPython), arguments: [false, true])
    func lockedByOthers(isForeign: Bool) throws {
        // Only root can give a file away.
        if isForeign, geteuid() != 0 { return }
        try AgentProcess.withAgent { first in
            first.kill()
            let file = first.place.preferences + "/.defaultsd.agent"
            chmod(file, 0o644)
            if isForeign { chown(file, 65_534, 65_534) }
            let other = try Self.lockHolder(of: file, "O_RDONLY")
            let second = try AgentProcess(first.place)
            defer { second.kill() }
            let status = try RawFile.status(file)
            #expect(status.st_uid == geteuid() && status.st_mode & 0o7777 == 0o600)
            try Self.expectRefusal(first.place, of: second.pid)
            withExtendedLifetime(other) {}
        }
    }

    @Test(
        "Lock files that root has left in a user's directory stop neither saves nor the agent",
        .enabled(if: AgentProcess.hasNobody))
    func filesOfRoot() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            chmod(place.preferences, 0o755)
            let files = [".defaultsd.lock", ".defaultsd.agent"].map { "\(place.preferences)/\($0)" }
            for file in files {
                try RawFile.write("", to: file)
                chmod(file, 0o600)
            }
            let command = AgentProcess.asNobody + [Programs.defaults, "write", "a.b", "k", "-int", "1"]
            let outcome = try Programs.run(
                command[0], Array(command[1...]),
                environment: place.environment.filter { $0.key != "DEFAULTSD_SOCKET" })
            #expect(outcome.status == 0, "\(outcome)")
            #expect(!RawFile.exists(files[0]))
            // The first command has waited until root's files couldn't be new anymore.
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            #expect(try RawFile.status(files[1]).st_uid == 65_534)
            #expect(try agent.defaults("write", "a.b", "k", "-int", "2").status == 0)
        }
    }

    @Test("A directory that other users may write to is reported in the log and the status")
    func exposed() throws {
        try AgentProcess.withPlace { place in
            chmod(place.preferences, 0o777)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            #expect(try agent.defaults("status").output.contains("`chmod o-w \(place.preferences)`"))
            chmod(place.preferences, 0o700)
            #expect(try agent.status()["errors"] == [])
            #expect(agent.complaints().contains("`chmod o-w \(place.preferences)`"))
        }
    }

    @Test("A claim has a holder only as long as its agent runs")
    func holder() throws {
        try AgentProcess.withAgent { agent in
            let directory = PreferencesDirectory(path: agent.place.preferences)
            #expect(AgentClaim.holder(ofDirectory: directory)?.pid == agent.pid)
            agent.kill()
            #expect(RawFile.exists(agent.place.preferences + "/.defaultsd.agent"))
            #expect(AgentClaim.holder(ofDirectory: directory) == nil)
        }
    }

    @Test(
        "A claim file that was made read-only names its next holder", .enabled(if: AgentProcess.hasNobody))
    func readOnlyFile() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            let file = place.preferences + "/.defaultsd.agent"
            let first = try AgentProcess(place, launcher: AgentProcess.asNobody)
            first.kill()
            chmod(file, 0o400)
            let second = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { second.kill() }
            #expect(String(decoding: try RawFile.read(file), as: UTF8.self).hasPrefix("\(second.pid)\n"))
        }
    }

    /// Starts another program that locks a file.
    private static func lockHolder(of file: String, _ flags: String) throws -> ForeignProcess {
        let holder = try ForeignProcess(
            python: """
                import fcntl, os, sys
                file = os.open(sys.argv[1], os.\(flags), 0o600)
                fcntl.flock(file, fcntl.LOCK_EX)
                print("locked", flush=True)
                sys.stdin.readline()
                """, [file])
        #expect(holder.line() == "locked")
        return holder
    }

    // MARK: Sockets

    @Test("A socket on which another program listens is reported and kept", .enabled(if: ForeignProcess.hasPython))
    func livingSocket() throws {
        try AgentProcess.withPlace { place in
            let other = try Self.listener(at: place.socket)
            let outcome = try Programs.run(Programs.defaultsd, [], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("Another program is listening on \(place.socket)"), "\(outcome.errors)")
            #expect(RawFile.exists(place.socket))
            withExtendedLifetime(other) {}
        }
    }

    @Test(
        "An agent that exits leaves alone a socket that has replaced its own",
        .enabled(if: ForeignProcess.hasPython))
    func replacedSocket() throws {
        try AgentProcess.withAgent { agent in
            unlink(agent.place.socket)
            let other = try Self.listener(at: agent.place.socket)
            #expect(agent.terminate() == 0)
            #expect(RawFile.exists(agent.place.socket))
            withExtendedLifetime(other) {}
        }
    }

    private static func listener(at path: String) throws -> ForeignProcess {
        let process = try ForeignProcess(
            python: """
                import socket, sys
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(sys.argv[1])
                listener.listen(8)
                print('listening', flush=True)
                sys.stdin.read()
                """, [path])
        #expect(process.line() == "listening")
        return process
    }

    // MARK: The runtime directory

    @Test("A link in place of the runtime directory is not followed, and clients work without an agent")
    func linkedRuntimeDirectory() throws {
        try AgentProcess.withPlace { place in
            let victim = place.root + "/victim"
            try RawFile.makeDirectory(victim, mode: 0o755)
            symlink(victim, place.runtime + "/defaultsd")
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            for arguments in [[Programs.defaultsd], [Programs.defaults, "tail"], [Programs.defaults, "status"]] {
                let outcome = try Programs.run(arguments[0], Array(arguments[1...]), environment: environment)
                #expect(outcome.status != 0)
                #expect(outcome.errors.contains("\(place.runtime)/defaultsd is a link"), "\(arguments): \(outcome)")
            }
            #expect(try RawFile.status(victim).st_mode & 0o7777 == 0o755)
            #expect(namesOfFiles(in: victim) == [])
            for arguments in [["write", "a.b", "k", "v"], ["read", "a.b", "k"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.status == 0, "\(outcome)")
            }
        }
    }

    @Test("A runtime directory whose path is too long for a socket costs the agent but not the preferences")
    func longRuntimeDirectory() throws {
        try AgentProcess.withPlace { place in
            let runtime = place.runtime + "/" + String(repeating: "r", count: 100)
            try RawFile.makeDirectory(runtime)
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": "", "XDG_RUNTIME_DIR": runtime]) { $1 }
            for arguments in [["write", "a.b", "k", "v"], ["read", "a.b", "k"], ["domains"], ["sync"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.status == 0 && outcome.errors == "", "\(arguments): \(outcome)")
            }
            for arguments in [[Programs.defaultsd], [Programs.defaults, "tail"], [Programs.defaults, "status"]] {
                let outcome = try Programs.run(arguments[0], Array(arguments[1...]), environment: environment)
                #expect(outcome.status != 0 && outcome.errors.contains("the limit is 103"), "\(arguments): \(outcome)")
            }
            for socket in ["", runtime + "/socket"] {
                let variables = environment.merging(["DEFAULTSD_SOCKET": socket]) { $1 }
                let client = Client(.success(try Location(environment: Environment(variables))))
                defer { client.close() }
                let defaults = try #require(UserDefaults(suiteName: "a.b", in: client))
                #expect(defaults.string(forKey: "k") == "v")
                defaults.set(socket, forKey: "socket")
                try defaults.save()
                let read = try Programs.run(Programs.defaults, ["read", "a.b", "socket"], environment: environment)
                #expect(read.output == socket + "\n")
            }
        }
    }
}
