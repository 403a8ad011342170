import Glibc
import TestSupport
import Testing

/// The tests' own way to start programs, which they depend on.
@Suite("The programs that tests start")
struct RunningProgramTests {
    @Test("Input and both outputs may be larger than a pipe")
    func largeStreams() throws {
        let text = String(repeating: "0123456789abcdef", count: 1 << 16)
        let script = "head -c 1000000 /dev/zero | tr '\\0' e >&2; cat; head -c 1000000 /dev/zero | tr '\\0' e >&2"
        let outcome = try Programs.run("sh", ["-c", script], input: text)
        #expect(outcome.status == 0 && outcome.output == text)
        #expect(outcome.errors == String(repeating: "e", count: 2_000_000))
    }

    @Test(
        "A program's status is the one that a shell reports",
        arguments: [
            ("exit 7", 7), ("kill -TERM $$", 128 + SIGTERM), ("kill -PIPE $$", 128 + SIGPIPE),
            ("exec <&- >&- 2>&-; sleep 0.1; exit 3", 3),
        ])
    func status(script: String, expected: Int32) throws {
        #expect(try RunningProgram("sh", ["-c", script]).status() == expected)
        #expect(try Programs.run("sh", ["-c", script]).status == expected)
    }

    @Test("A program that ends is reaped at once, whether or not the test waits for it")
    func reaping() throws {
        let program = try RunningProgram("true", [])
        #expect(eventually { !exists(program.pid) })
        #expect(program.waitUntilExit() == 0 && program.status() == 0 && !program.isRunning)
    }

    @Test("A program is killed and reaped at the end of its object's lifetime")
    func lifetime() throws {
        var program: RunningProgram? = try RunningProgram("sleep", ["1000"])
        let pid = try #require(program?.pid)
        #expect(exists(pid) && program?.isRunning == true)
        program = nil
        #expect(!exists(pid))
    }

    @Test("A program inherits neither files nor blocked signals")
    func inheritance() throws {
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        var (all, former) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        let script = "test -e /dev/fd/\(descriptor) || exec grep SigBlk /proc/self/status"
        let outcome = try Programs.run("sh", ["-c", script])
        #expect(outcome.output == "SigBlk:\t0000000000000000\n", "\(outcome)")
    }

    @Test("A line for a program that has ended is an error")
    func brokenPipe() throws {
        let program = try RunningProgram("true", [], takesInput: true)
        #expect(program.status() == 0)
        #expect(throws: (any Error).self) { try program.send("line") }
    }

    private func exists(_ pid: pid_t) -> Bool { kill(pid, 0) == 0 }
}
