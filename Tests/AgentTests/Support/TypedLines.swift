import Foundation
import ProgramSupport
import TestSupport

/// Lines that are typed into a shell on a pseudo-terminal, each followed by Tab and Enter.
enum TypedLines {
    /// Runs an interactive shell and types lines into it, one after the other.
    ///
    /// The command `defaults` of the environment must write its arguments to `$HOME/log`, each followed by NUL.
    ///
    /// - Parameters:
    ///   - lines: The lines.
    ///   - shell: The shell: bash, zsh or fish.
    ///   - setup: The line that loads the completions.
    ///   - environment: The variables to change in the environment.
    /// - Returns: For each line, the arguments of `defaults`, or the terminal's output as the only element if
    ///   `defaults` wasn't called or the line was incomplete.
    /// - Throws: An error if the shell can't be started or ends.
    static func run(
        _ lines: [String], in shell: String, setup: String, environment: [String: String]
    ) throws -> [[String]] {
        let input = String(decoding: try JSONEncoder().encode(lines), as: UTF8.self)
        let outcome = try Programs.run(
            "/usr/bin/env", ["python3", "-c", script, shell, setup], environment: environment, input: input)
        guard let results = try? JSONDecoder().decode([[String]].self, from: Data(outcome.output.utf8)) else {
            throw TestSystemError("typing in \(shell): \(outcome)")
        }
        return results
    }

    private static let script = #"""
        import fcntl, json, os, pty, select, struct, sys, termios
        shell, setup = sys.argv[1:3]
        commands = {
            "bash": ["bash", "--noprofile", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"],
            "fish": ["fish", "--private", "--no-config", "-i"],
        }
        log = os.environ["HOME"] + "/log"
        pid, fd = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "dumb"
            os.chdir(os.environ["HOME"])
            os.execvp(commands[shell][0], commands[shell])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))

        def shows(mark, seconds):
            out = b""
            while mark not in out:
                if not select.select([fd], [], [], seconds)[0]: return False, out
                out += os.read(fd, 65536)
            return True, out

        os.write(fd, setup.encode() + b"; echo REA''DY\n")
        isReady, out = shows(b"READY\r", 60)
        if not isReady: sys.exit("The shell did not start: %r" % out)
        results = []
        for number, line in enumerate(json.load(sys.stdin)):
            if os.path.exists(log): os.unlink(log)
            os.write(fd, line.encode() + b"\t\necho DO''NE%d\n" % number)
            hasEnded, out = shows(b"DONE%d\r" % number, 60)
            if not hasEnded:
                # The line is incomplete, for example because of an open quote.
                os.write(fd, b"\x03\necho BA''CK%d\n" % number)
                shows(b"BACK%d\r" % number, 10)
                results.append([repr(out)])
            elif os.path.exists(log):
                results.append(open(log, "rb").read().decode().split("\0")[:-1])
            else:
                results.append([repr(out)])
        print(json.dumps(results))
        """#
}
