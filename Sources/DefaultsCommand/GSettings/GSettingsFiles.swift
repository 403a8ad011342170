import DefaultsCore
import Glibc
import Linux

/// The file whose existence makes the backend the one that GSettings uses.
struct GSettingsSwitch {
    let path: String

    private static let text = "GSettings uses defaultsd. `defaults gsettings disable` ends that.\n"

    init(_ environment: Environment) throws(DefaultsError) {
        path = try "\(PreferencesDirectory.standardPath(environment))/.defaultsd.gsettings"
    }

    /// Whether it is on, by the rule of the backend.
    var isOn: Bool {
        guard let status = try? FileStatus(at: path) else { return false }
        return status.isRegular && (status.isOwn || geteuid() == 0)
    }

    /// The time since which it is on; `nil` if it isn't.
    var time: Timestamp? { isOn ? (try? FileStatus(at: path)).map { Timestamp($0.st_mtim) } : nil }

    func turnOn() throws(Failure) {
        do throws(SystemCall.Failure) {
            try LogLocation(log: path).makeDirectory()
            try NewFile.replace(path, with: Array(Self.text.utf8))
            try FileDescriptor.synchronizeDirectory(of: path)
        } catch {
            throw Failure("\(path) can't be created: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    func turnOff() throws(Failure) {
        do throws(SystemCall.Failure) {
            try SystemCall.run { unlink(path) }
            try FileDescriptor.synchronizeDirectory(of: path)
        } catch {
            throw Failure("\(path) can't be removed: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }
}

/// The dumps of dconf that switches leave in the user's state directory.
struct GSettingsDumps {
    let directory: String
    /// The path of the dump of the values that the other side, which isn't in use, had at the last switch.
    ///
    /// While they are the same, the values in use are newer.
    var agreed: String { "\(directory)/agreed.dconf" }

    /// Finds the directory, and creates it.
    init(for preferences: PreferencesDirectory, environment: Environment) throws(Failure) {
        guard let directory = LogLocation.gsettingsDirectory(for: preferences, environment: environment) else {
            throw Failure("There is no home directory. Set HOME.", .unavailable)
        }
        self.directory = directory
        do throws(SystemCall.Failure) { try LogLocation(log: agreed).makeDirectory() } catch {
            throw Failure("\(directory) can't be created: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Gets the exclusive right to switch, or fails if another process has it.
    func lock() throws(Failure) -> LockFile {
        let lock: LockFile?
        do throws(SystemCall.Failure) { lock = try LogLocation(log: "\(directory)/switch").lock() } catch {
            throw Failure("\(directory) can't be locked: \(SystemCall.message(error.number)).", .cantCreate)
        }
        guard let lock else {
            throw Failure("GSettings is being switched already. Run this again when that has ended.", .temporaryFailure)
        }
        return lock
    }

    /// Stores a dump, unless it is the last one that was stored, and returns its path.
    func store(_ dump: [UInt8]) throws(Failure) -> String {
        let stored = try paths(beginningWith: "before-")
        if let last = stored.last, try bytes(of: last) == dump { return last }
        let time = ChangeText.moment(.now()).map { $0 == " " ? "-" : $0 == ":" ? "." : $0 }
        let path = "\(directory)/before-\(String(time)).dconf"
        try write(dump, to: path)
        return path
    }

    /// Stores the values of the side that the switch leaves, before the other side gets some of them.
    func begin(with dump: [UInt8]) throws(Failure) {
        let count = try pending().count
        try write(dump, to: "\(directory)/pending-\(1000 + count).dconf")
    }

    /// Makes the values that `begin` has stored those of the last switch.
    func end() throws(Failure) {
        var begun = try pending()
        do throws(SystemCall.Failure) {
            guard let last = begun.popLast() else { return }
            for path in begun { try SystemCall.run { unlink(path) } }
            try SystemCall.run { rename(last, agreed) }
            try FileDescriptor.synchronizeDirectory(of: agreed)
        } catch {
            throw Failure("\(agreed) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Returns the dump of the other side's values at the last switch; `nil` before the first one.
    func agreement() throws(Failure) -> [UInt8]? { try bytes(of: agreed) }

    /// Returns the paths of the dumps of switches that have begun since the last one, and didn't end.
    func pending() throws(Failure) -> [String] { try paths(beginningWith: "pending-") }

    /// Returns the paths of the dumps of switches, the latest last.
    func known() throws(Failure) -> [String] { try (Path.isMissing(agreed) ? [] : [agreed]) + pending() }

    private func paths(beginningWith prefix: String) throws(Failure) -> [String] {
        do throws(DefaultsError) {
            return try PreferencesDirectory(path: directory).names(in: "")
                .filter { $0.hasPrefix(prefix) && $0.hasSuffix(".dconf") }.sorted().map { "\(directory)/\($0)" }
        } catch {
            throw Failure(error.description, ExitStatus(error))
        }
    }

    private func bytes(of path: String) throws(Failure) -> [UInt8]? {
        Path.isMissing(path) ? nil : try InputFile.read(FilePath(path))
    }

    private func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        do throws(SystemCall.Failure) {
            try NewFile.replace(path, with: bytes)
            try FileDescriptor.synchronizeDirectory(of: path)
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }
}
