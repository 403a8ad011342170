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
