import DefaultsCore
import Glibc
import Linux

/// A running program of this user's that uses GSettings, or dconf's own library.
struct GSettingsProgram {
    /// The reason why a program uses dconf although GSettings is switched.
    enum Reason: String {
        /// It uses dconf's own library, and so never anything else.
        case library
        /// Its environment names the backend.
        case variable
        /// It hasn't loaded the backend.
        case unloaded
        /// It has looked for the switch before, or elsewhere.
        case started
    }

    let pid: Int32
    let name: String
    let usesDefaultsd: Bool
    /// The reason why it uses dconf; `nil` if it doesn't.
    let dconf: Reason?

    /// The name with the process ID, for messages.
    var title: String { "\(name.printable) (pid \(pid))" }

    private static let module = "libgsettingsdefaultsd.so"
    private static let limit = 16 << 20

    /// Examines a process by its memory and its threads; fails if it uses neither.
    ///
    /// GIO loads all backends into all programs. The one that is used shows in what it does: dconf's maps its database,
    /// and the agent's has a thread.
    init?(_ pid: Int32) {
        guard let file = try? FileDescriptor(opening: "/proc/\(pid)/maps", O_RDONLY),
            let bytes = try? file.read(upTo: Self.limit)
        else { return nil }
        var files: Set<String> = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
            files.insert(ProgramFile(target: String(decoding: line[slash...], as: UTF8.self)).path)
        }
        func maps(_ name: String) -> Bool { files.contains { Path.lastName(of: $0).hasPrefix(name) } }
        let mapsDatabase = files.contains { Path.lastName(of: Path.directory(of: $0)) == "dconf" }
        usesDefaultsd = maps(Self.module) && Self.threads(of: pid).contains("defaultsd")
        let name = ProgramFile(ofProcess: pid).map { Path.lastName(of: $0.path) } ?? ""
        // The service is what the others' values come from.
        guard usesDefaultsd || mapsDatabase, name != "dconf-service" else { return nil }
        (self.pid, self.name) = (pid, name)
        if !mapsDatabase {
            dconf = nil
        } else if maps("libdconf.so") {
            dconf = .library
        } else {
            let isNamed = ProcessText.list("/proc/\(pid)/environ").contains { $0.hasPrefix("GSETTINGS_BACKEND=dconf") }
            dconf = isNamed ? .variable : maps(Self.module) ? .started : .unloaded
        }
    }

    private static func threads(of pid: Int32) -> [String] {
        let directory = "/proc/\(pid)/task"
        return names(in: directory).map { ProcessText.of("\(directory)/\($0)/comm").trimmed }
    }

    /// Returns the programs of this user, in the order of their processes.
    static func all() -> [GSettingsProgram] {
        names(in: "/proc").compactMap { Int32($0) }.sorted().compactMap { pid in
            guard let status = try? FileStatus(at: "/proc/\(pid)"), status.isOwn else { return nil }
            return GSettingsProgram(pid)
        }
    }

    private static func names(in directory: String) -> [String] {
        (try? PreferencesDirectory(path: directory).names(in: "")) ?? []
    }
}
