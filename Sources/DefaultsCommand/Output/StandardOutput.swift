import DefaultsCore
import Glibc

/// Standard output, written at once and whole.
enum StandardOutput {
    /// Writes text.
    static func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    /// Writes text that may have any character, as a property list has it or as one.
    ///
    /// On a terminal, characters that it obeys, and those that show text in another order, are escaped as in an old-style
    /// property list, but for line breaks and tabs. Anything else gets the text as it is.
    static func show(_ text: [UInt8]) throws(Failure) {
        try write(isatty(STDOUT_FILENO) == 1 ? Array(escaped(String(decoding: text, as: UTF8.self)).utf8) : text)
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
    /// When nobody reads them any more, the process ends with status 0: that is how `| head` says "enough". `ProcessSetup`
    /// has SIGPIPE ignored for that.
    static func write(_ bytes: [UInt8]) throws(Failure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                written += count
            } else if errno == EPIPE {
                exit(0)
            } else if errno == EAGAIN {
                // Someone made the terminal non-blocking; wait until it takes more.
                var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            } else if errno != EINTR {
                throw Failure("Standard output can't be written: \(String(cString: strerror(errno))).", .inputOutput)
            }
        }
    }
}
