import DefaultsCore
import Glibc
import Linux

/// An application, found by any of its names, and the domain of its preferences.
struct Application {
    /// The desktop file's name if it is a reverse domain name, otherwise the program's name.
    let domain: String

    /// Finds an application by any of its names.
    ///
    /// The following are tried in order: the path or name of its desktop file, its display name, a program that only
    /// its desktop file starts, and the path or name of an executable.
    init(named name: String, _ environment: Environment) throws(Failure) {
        if ByteArgument.isOne(name) { throw ByteArgument.failure(name) }
        if Path.hasSeparator(name) {
            if let entry = DesktopEntry(path: name) {
                domain = entry.domain
                return
            }
        } else {
            let directories = Self.directories(environment)
            if let entry = Self.entry(withFileName: name, in: directories) ?? Self.entry(titled: name, in: directories)
                ?? Self.entry(starting: name, in: directories)
            {
                domain = entry.domain
                return
            }
        }
        guard let program = Self.executable(name, environment) else {
            throw Failure("Couldn't find an application named \"\(name)\"; defaults unchanged.", .notFound)
        }
        domain = program
    }

    /// Returns the directories that may contain desktop files.
    ///
    /// See https://specifications.freedesktop.org/basedir-spec/latest/
    private static func directories(_ environment: Environment) -> [String] {
        let own = environment["XDG_DATA_HOME"] ?? environment.home.map { "\($0)/.local/share" }
        let shared = (environment["XDG_DATA_DIRS"] ?? "/usr/local/share:/usr/share").split(separator: ":")
        return ([own].compactMap(\.self) + shared.map(String.init)).filter(Path.isAbsolute)
            .map { "\($0)/applications" }
    }

    /// Returns the names of all desktop files without their suffix; each identifies an application.
    static func names(_ environment: Environment) -> Set<String> {
        let suffix = ".desktop"
        let names = directories(environment).flatMap { (try? PreferencesDirectory(path: $0).names(in: "")) ?? [] }
        return Set(names.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) })
    }

    private static func entry(withFileName name: String, in directories: [String]) -> DesktopEntry? {
        let file = name.hasSuffix(".desktop") ? name : "\(name).desktop"
        return directories.map { "\($0)/\(file)" }.first { (path: String) in access(path, F_OK) == 0 }
            .flatMap { DesktopEntry(path: $0) }
    }

    private static func entry(titled name: String, in directories: [String]) -> DesktopEntry? {
        let wanted = name.lowercased()
        return entries(in: directories).first { entry in entry.name?.lowercased() == wanted }
    }

    private static func entry(starting program: String, in directories: [String]) -> DesktopEntry? {
        let found = entries(in: directories).filter { $0.program == program }
        return found.count == 1 ? found.first : nil
    }

    /// Returns all desktop files in a fixed order, so that a title shared by two of them always finds the same one.
    ///
    /// A file hides files of the same name in later directories, even if it marks its application as deleted. A
    /// directory that can't be listed counts as empty.
    private static func entries(in directories: [String]) -> [DesktopEntry] {
        var seen: Set<String> = []
        return directories.flatMap { directory in
            ((try? PreferencesDirectory(path: directory).names(in: "")) ?? []).sorted()
                .filter { seen.insert($0).inserted }.compactMap { DesktopEntry(path: "\(directory)/\($0)") }
        }
    }

    private static func executable(_ name: String, _ environment: Environment) -> String? {
        let candidates =
            Path.hasSeparator(name)
            ? [name] : (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
        return candidates.contains(where: Path.isProgram) ? Path.lastName(of: name) : nil
    }
}

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
