import DefaultsCore
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// The program that a command names as the one on whose behalf it changes preferences.
@Suite("The callers of commands")
struct CallerTests {
    private static let write = "'\(Programs.defaults)' write a.b k"

    /// Ways to run a command, each of which writes a value of its own, with the caller that the history then names.
    static let calls: [(script: String, caller: String?)] = [
        ("unset DEFAULTS_ORIGIN; exec ./setup.sh 1", "setup.sh"),
        ("unset DEFAULTS_ORIGIN; sh -eu setup.sh 2; true", "setup.sh"),
        ("unset DEFAULTS_ORIGIN; cd bin && sh ../setup.sh 3; true", "setup.sh"),
        ("unset DEFAULTS_ORIGIN; timeout 20 ./setup.sh 4", "setup.sh"),
        ("unset DEFAULTS_ORIGIN; echo 5 | xargs \(write); true", "swiftpm-testing-helper"),
        ("unset DEFAULTS_ORIGIN; cat setup.sh | sh /dev/stdin 10; true", "swiftpm-testing-helper"),
        ("DEFAULTS_ORIGIN='nightly job' ./setup.sh 6", "nightly job"),
        ("DEFAULTS_ORIGIN= ./setup.sh 7", nil),
        ("DEFAULTS_ORIGIN=$(printf '/%02000d' 8) ./setup.sh 8", String(repeating: "0", count: 255)),
        ("unset DEFAULTS_ORIGIN; printf '%s\\n' \"\(write) 9\" exit | script -qec sh /dev/null", nil),
    ]

    @Test("The history names the script or the program that ran a command, and `--by` finds it", arguments: calls)
    func named(script: String, caller: String?) throws {
        if script.contains("script -q"), !Programs.isInstalled("script") { return }
        try AgentProcess.withAgent { agent in
            try RawFile.write("#!/bin/sh\n\(Self.write) \"$1\"\ntrue\n", to: agent.place.preferences + "/setup.sh")
            chmod(agent.place.preferences + "/setup.sh", 0o755)
            try RawFile.makeDirectory(agent.place.preferences + "/bin")
            #expect(try agent.shell(script).status == 0)
            let log = try agent.defaults("log").output
            if let caller, caller != "swiftpm-testing-helper" {
                #expect(log.contains(", for \(caller))"), "\(log)")
                #expect(try agent.defaults("log", "--by", caller).output == log)
            } else if caller == nil {
                #expect(log.contains("k  (none) → ") && !log.contains(", for "), "\(log)")
            } else {
                // The name of the program that runs the tests differs between systems.
                let others = ["sh)", "xargs", "stdin"]
                #expect(log.contains(", for ") && !others.contains { log.contains($0) }, "\(log)")
            }
        }
    }

    @Test("A Python program is named by its script", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        try AgentProcess.withAgent { agent in
            let program = """
                import os, subprocess
                os.environ.pop("DEFAULTS_ORIGIN")
                subprocess.run("\(Self.write) 1; true", shell=True, check=True)
                """
            try RawFile.write(program, to: agent.place.preferences + "/tune.py")
            #expect(try agent.shell("python3 -B ./tune.py").status == 0)
            #expect(try agent.defaults("log").output.contains(", for tune.py)"))
            let path = agent.place.preferences + "/tune.py"
            #expect(try agent.defaults("log", "--json").output.contains("\"program\":\"\(path)\""))
        }
    }
}
