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
    /// The path of the dump on which both sides agreed at the last switch.
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

    /// Stores a dump, unless it is the last one that was stored, and returns its path.
    func store(_ dump: [UInt8]) throws(Failure) -> String {
        let names: [String]
        do throws(DefaultsError) { names = try PreferencesDirectory(path: directory).names(in: "") } catch {
            throw Failure(error.description, ExitStatus(error))
        }
        let stored = names.filter { $0.hasPrefix("before-") && $0.hasSuffix(".dconf") }.sorted()
        if let last = stored.last, try bytes(of: "\(directory)/\(last)") == dump { return "\(directory)/\(last)" }
        let time = ChangeText.moment(.now()).map { $0 == " " ? "-" : $0 == ":" ? "." : $0 }
        let path = "\(directory)/before-\(String(time)).dconf"
        try write(dump, to: path)
        return path
    }

    /// Stores the dump on which both sides agree.
    func agree(on dump: [UInt8]) throws(Failure) { try write(dump, to: agreed) }

    /// Returns the dump on which both sides agreed; `nil` before the first switch.
    func agreement() throws(Failure) -> [UInt8]? { try bytes(of: agreed) }

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
