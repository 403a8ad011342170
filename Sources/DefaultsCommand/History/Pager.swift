import DefaultsCore
import Glibc

/// Output that a terminal shows page by page.
enum Pager {
    /// Writes lines, through `$PAGER` or `less` if standard output is a terminal.
    ///
    /// The lines are made as the pager asks for them, so a long history is only read as far as the reader scrolls.
    static func write(_ next: () throws -> String?) throws {
        guard isatty(STDOUT_FILENO) == 1, let pager = start() else {
            while let lines = try next() { try StandardOutput.write(lines) }
            return
        }
        // The pager handles Ctrl-C, and must not outlive this process.
        let former = signal(SIGINT, SIG_IGN)
        defer {
            pclose(pager)
            signal(SIGINT, former)
        }
        while let lines = try next() {
            // The reader has left the pager.
            if fputs(lines, pager) < 0 { return }
        }
    }

    private static func start() -> UnsafeMutablePointer<FILE>? {
        let program = Environment.current.command(named: "PAGER") ?? "less"
        if program == "cat" { return nil }
        // As in git: quit if it fits on one screen, show colors, don't clear the screen.
        setenv("LESS", "FRX", 0)
        return popen(
            "command -v \(program.split(separator: " ").first ?? "") >/dev/null && exec \(program) || exec cat", "w")
    }
}
