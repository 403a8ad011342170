import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The parts of `defaults` around its verbs.
@Suite("The command `defaults`")
struct CommandTests {
    @Test("`-currentHost` selects this machine's file", .enabled(if: HostIdentifier.current() != nil))
    func currentHost() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("-currentHost", "write", "a.b", "k", "here")
            try agent.defaults("write", "a.b", "k", "anywhere")
            let host = try #require(HostIdentifier.current())
            #expect(RawFile.exists("\(agent.place.preferences)/ByHost/a.b.\(host).plist"))
            #expect(try agent.defaults("read", "-currentHost", "a.b", "k").output == "here\n")
            #expect(try agent.defaults("-currentHost", "read", "a.b", "k").output == "here\n")
            #expect(try agent.defaults("read", "a.b", "k").output == "anywhere\n")
            #expect(try agent.defaults("domains").output == "a.b\n")
        }
    }

    @Test("Wrong usage gives a one-line error and status 64, and help gives status 0")
    func usage() throws {
        for arguments in [
            ["read", "a", "b", "c"], ["write"], ["delete"], ["read", "--what"], ["tail", "-x"], ["-app"],
            ["read-type", "a"], ["rename", "a", "b"], ["find"], ["import", "a"], ["export", "a"], ["delete-all"],
        ] {
            let outcome = try Programs.run(Programs.defaults, arguments)
            #expect(outcome.status == 64 && outcome.output == "")
            #expect(outcome.errors.hasPrefix("defaults: ") && outcome.errors.split(separator: "\n").count == 1)
        }
        for arguments in [[], ["help"], ["--help"], ["HELP", "write"], ["--version"]] {
            let outcome = try Programs.run(Programs.defaults, arguments)
            #expect(outcome.status == 0 && outcome.output != "" && outcome.errors == "")
        }
    }

    @Test(
        "Help that can't be written is an error", arguments: [["--help"], ["help", "read"], ["read", "--help"], []])
    func unwritableHelp(_ arguments: [String]) throws {
        let command = ([Programs.defaults] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let outcome = try Programs.shell("\(command) >/dev/full", in: "/", environment: [:])
        #expect(outcome.status == 74)
        #expect(outcome.errors == "defaults: Standard output can't be written: No space left on device.\n")
    }

    @Test(
        "Each verb's help shows its usage and examples",
        arguments: [
            "read", "read-type", "write", "rename", "delete", "delete-all", "domains", "find", "import", "export",
            "convert", "diff", "edit", "explain", "tail", "status", "doctor", "sync",
        ])
    func help(_ verb: String) throws {
        let help = try Programs.run(Programs.defaults, ["help", verb])
        #expect(help.status == 0 && help.errors == "")
        #expect(help.output.contains("\nEXAMPLES\n  defaults "))
        #expect(help.output.contains("USAGE: defaults \(verb) "))
        for arguments in [[verb, "--help"], [verb.uppercased(), "-h"], [verb, "a.b", "--help"]] {
            let other = try Programs.run(Programs.defaults, arguments)
            #expect(other.output == help.output && other.status == 0 && other.errors == "")
        }
    }

    @Test("An argument that isn't UTF-8 is refused and nothing is written")
    func notText() throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.shell(
                "'\(Programs.defaults)' write a.b k -string \"$(printf 'a\\377b')\"", in: place.runtime,
                environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
            #expect(outcome.status == 64)
            #expect(outcome.errors.hasPrefix("defaults: \"a\\xffb\" is not UTF-8"))
            #expect(place.files == [])
        }
    }

    /// Whether the test can create a mount namespace, which containers often forbid.
    private static let mayUnshare =
        (try? Programs.run("/usr/bin/unshare", ["--mount", "/bin/sh", "-c", "umount -l /proc"]).status) == 0

    @Test("A missing /proc is reported, since arguments can't be read without it", .enabled(if: mayUnshare))
    func noProc() throws {
        let outcome = try Programs.run(
            "/usr/bin/unshare",
            ["--mount", "/bin/sh", "-c", "umount -l /proc && '\(Programs.defaults)' write a.b k v"])
        #expect(outcome.status == 71 && outcome.output == "")
        #expect(outcome.errors == "defaults: The arguments can't be read; is /proc mounted?\n")
    }

    @Test("`printHostIdentifier` prints this host's identifier", .enabled(if: HostIdentifier.current() != nil))
    func hostIdentifier() throws {
        let outcome = try Programs.run(Programs.defaults, ["printHostIdentifier"])
        #expect(outcome.output == HostIdentifier.current().map { $0 + "\n" } && outcome.status == 0)
    }

    @Test("A named socket without an agent is reported, and so is a missing directory")
    func noAgent() throws {
        try AgentProcess.withPlace { place in
            for arguments in [["read", "a.b"], ["write", "a.b", "k", "v"], ["delete", "a.b"], ["domains"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: place.environment)
                #expect(outcome.status == 69)
                #expect(outcome.errors.hasPrefix("defaults: No agent answers at \(place.socket)"))
                let missing = place.runtime + "/missing"
                let other = try Programs.run(
                    Programs.defaults, ["--directory", missing] + arguments,
                    environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
                #expect(other.status == 74)
                #expect(other.errors.contains("The preferences directory \(missing) can't be used: No such file"))
                #expect(!RawFile.exists(missing))
            }
            #expect(place.files == [])
        }
    }

    @Test("An agent that serves another directory is reported and not written to")
    func otherDirectory() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try agent.defaults("--directory", agent.place.runtime, "write", "a.b", "k", "v")
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("serves \(agent.place.preferences), not \(agent.place.runtime)"))
            #expect(try agent.defaults("domains").output == "")
        }
    }

    @Test("A write that has succeeded is in the file, even if the agent is killed right after")
    func durable() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write(
                "<plist><dict><key>SaveDelay</key><integer>60000</integer></dict></plist>",
                to: place.path(AgentSettings.domainName))
            for number in 1...5 {
                let agent = try AgentProcess(place)
                let outcome = try agent.defaults("write", "a.b", "number", "-int", "\(number)")
                agent.kill()
                #expect(outcome.status == 0)
                let content = try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
                #expect(content == ["number": .integer(Int64(number))])
            }
        }
    }

    @Test("Concurrent writes lose no key, with and without an agent", arguments: [true, false])
    func atOnce(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            let commands = try (1...12).map { number in
                try RunningProgram(
                    Programs.defaults, ["write", "a.b", "key\(number)", "v"], environment: environment)
            }
            for command in commands {
                #expect(command.status(within: 60) == 0)
                #expect(command.complaints() == "")
            }
            let content = try Fields(PropertyListValue(parsing: RawFile.read(place.path("a.b"))), of: "The file")
            #expect(content.values.count == 12)
        }
    }

    @Test(
        "A write just after the file was removed is kept, with and without an agent", arguments: [true, false])
    func afterRemoval(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            for value in ["old", "new"] {
                let outcome = try Programs.run(
                    Programs.defaults, ["write", "a.b", "k", value], environment: environment)
                #expect(outcome.status == 0)
                if value == "old" { unlink(place.path("a.b")) }
            }
            let reading = try Programs.run(Programs.defaults, ["read", "a.b", "k"], environment: environment)
            #expect(reading.output == "new\n")
        }
    }
}
