import ArgumentParser
import DefaultsCore
import Glibc
import Linux

/// Standard output, written unbuffered and completely.
enum StandardOutput {
    /// Writes text.
    static func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    /// Writes text that may contain any character: an old-style property list, or a value from one.
    ///
    /// On a terminal, control characters except line breaks and tabs, and characters that reorder text, are escaped as
    /// in an old-style property list. Any other output receives the text as it is.
    static func show(_ text: [UInt8]) throws(Failure) {
        try write(isatty(STDOUT_FILENO) == 1 ? Array(escaped(String(decoding: text, as: UTF8.self)).utf8) : text)
    }

    /// Whether the output can still be read; false after the reader of a pipe has closed it.
    static var hasReader: Bool {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&output, 1, 0) <= 0 || !output.isClosed
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\n" || scalar == "\t" { return result.unicodeScalars.append(scalar) }
            var shown = ""
            scalar.writePrintable(to: &shown)
            result += shown.hasPrefix("\\u") ? "\\U" + shown.dropFirst(2) : shown
        }
    }

    /// Writes bytes.
    ///
    /// If the reader is gone, as with `| head`, the process exits with status 0. `ProcessSetup` ignores SIGPIPE to make
    /// this possible.
    static func write(_ bytes: [UInt8]) throws(Failure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                written += count
            } else if errno == EPIPE {
                exit(0)
            } else if errno == EAGAIN {
                // Another program made the terminal non-blocking; wait until it accepts more.
                var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            } else if errno != EINTR {
                throw Failure("Standard output can't be written: \(String(cString: strerror(errno))).", .inputOutput)
            }
        }
    }
}

/// The choice of whether to color output.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never

    /// Returns whether output is colored.
    ///
    /// The option decides first, then `NO_COLOR` (https://no-color.org), then `CLICOLOR_FORCE`
    /// (https://bixense.com/clicolors) and `FORCE_COLOR`, and finally whether standard output is a terminal that isn't
    /// dumb. An empty variable counts as unset, and "0" forces nothing.
    func isColored(_ environment: Environment = .current) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            if environment["NO_COLOR"] != nil { return false }
            let forces = ["CLICOLOR_FORCE", "FORCE_COLOR"].compactMap { environment[$0] }
            if forces.contains(where: { $0 != "0" }) { return true }
            return isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        }
    }
}

/// The option to color output.
struct ColorOption: ParsableArguments {
    @Option(help: ArgumentHelp("Use colors: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto

    /// The form of changes as text, colored as the option says.
    var text: ChangeText { ChangeText(isColored: color.isColored()) }
}
