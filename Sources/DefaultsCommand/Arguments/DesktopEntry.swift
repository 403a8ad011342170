import DefaultsCore
import Glibc
import Linux

/// The parts of an application's desktop file that the command uses.
///
/// See https://specifications.freedesktop.org/desktop-entry-spec/latest/
struct DesktopEntry {
    /// The file's name without its suffix.
    let identifier: String
    /// The application's display name.
    private(set) var name: String?
    /// The basename of the application's program.
    private(set) var program: String?

    /// The identifier if it is a reverse domain name, otherwise the program's name.
    var domain: String { identifier.contains(".") ? identifier : program ?? identifier }

    /// Reads a desktop file; fails if it doesn't exist or marks the application as deleted (`Hidden=true`).
    init?(path: String) {
        let suffix = ".desktop"
        let file = Path.lastName(of: path)
        guard path.hasSuffix(suffix), file.utf8.count > suffix.utf8.count,
            let descriptor = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY),
            let bytes = try? descriptor.read(upTo: 1 << 20)
        else { return nil }
        identifier = String(file.dropLast(suffix.count))
        var isMainGroup = false
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isMainGroup = line.hasPrefix("[Desktop Entry]")
                continue
            }
            guard isMainGroup, let equals = line.firstIndex(of: "=") else { continue }
            let value = line[line.index(after: equals)...].drop(while: \.isWhitespace)
            switch line[..<equals].prefix(while: { !$0.isWhitespace }) {
            case "Name": name = String(value)
            case "Exec": program = Self.program(in: value)
            case "Hidden" where value.hasPrefix("true"): return nil
            default: break
            }
        }
    }

    /// Returns the basename of the program in a command line, skipping `env` with its options and assignments.
    private static func program(in command: Substring) -> String? {
        var words: [String] = []
        var word = ""
        var (isQuoted, isEscaped) = (false, false)
        for character in command + " " {
            if isEscaped {
                word.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == " ", !isQuoted {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        let names = words.map { Path.lastName(of: $0) }
        guard names.first == "env" else { return names.first }
        return zip(words, names).dropFirst().first { !$0.0.contains("=") && !$0.0.hasPrefix("-") }?.1
    }
}
