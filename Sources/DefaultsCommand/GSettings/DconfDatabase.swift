import DefaultsCore
import Glibc
import Linux

/// The user's own database of dconf, which the program `dconf` reads and writes.
struct DconfDatabase {
    private let program: String
    /// The file that makes dconf use this database alone, since the values of system databases aren't the user's.
    private let profile: String

    private static let time = Duration.seconds(60)
    private static let limit = 64 << 20

    /// The sentence about what to install if the program is missing.
    static let installation = "Install it (on Debian, the package dconf-cli)."

    /// Finds the program in the PATH; returns `nil` if it isn't there.
    static func program(in environment: Environment) -> String? {
        (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/dconf" }.first(where: Path.isProgram)
    }

    /// Returns the path of the database's file.
    static func file(in environment: Environment) throws -> String {
        try "\(PreferencesDirectory.standardPath(environment))/dconf/\(name(in: environment))"
    }

    /// Opens the database.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - directory: An existing directory for the file that names the database.
    ///   - environment: The environment that says which one is the user's.
    /// - Throws: If the user has none, or the file can't be written.
    init(program: String, fileIn directory: String, environment: Environment) throws(Failure) {
        self.program = program
        profile = "\(directory)/profile"
        let text = try "user-db:\(Self.name(in: environment))\n"
        do throws(SystemCall.Failure) { try NewFile.replace(profile, with: Array(text.utf8)) } catch {
            throw Failure("\(profile) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Returns the name of the user's database: the first one in the profile that dconf uses.
    private static func name(in environment: Environment) throws(Failure) -> String {
        let named = environment["DCONF_PROFILE"].map { Path.isAbsolute($0) ? $0 : "/etc/dconf/profile/\($0)" }
        let ofSession = environment["XDG_RUNTIME_DIR"].map { "\($0)/dconf/profile" }
        let profiles = ["/run/dconf/user/\(getuid())", named, ofSession, "/etc/dconf/profile/user"]
        for case let path? in profiles where !Path.isMissing(path) {
            let lines = ProcessText.of(path).split(separator: "\n").map { String($0).trimmed }
            guard let line = lines.first(where: { $0.hasPrefix("user-db:") }) else {
                throw Failure(
                    "dconf's profile \(path) has no database that you can change, so there is nothing to switch.",
                    .unavailable)
            }
            return String(line.dropFirst("user-db:".count)).trimmed
        }
        return "user"
    }

    /// Returns all values, in the form of `dconf dump`.
    func dump() throws(Failure) -> [UInt8] { try run(["dump", "/"]) }

    /// Sets the values in a dump.
    func load(_ dump: String) throws(Failure) { _ = try run(["load", "/"], input: Array(dump.utf8)) }

    /// Removes the value of a key.
    func reset(_ name: String) throws(Failure) { _ = try run(["reset", name]) }

    private func run(_ arguments: [String], input: [UInt8] = []) throws(Failure) -> [UInt8] {
        let run = try ProgramOutput.run(
            program, [program] + arguments, within: Self.time, limit: Self.limit, input: input,
            variables: ["DCONF_PROFILE": profile])
        let command = "`dconf \(arguments.joined(separator: " "))`"
        guard let status = run.status else { throw Failure("\(command) doesn't end.", .temporaryFailure) }
        guard status == 0, run.output.count < Self.limit else {
            let reason = ProgramOutput.firstLine(run.errors) ?? "status \(status)"
            throw Failure("\(command) failed: \(reason)", .unavailable)
        }
        return run.output
    }
}
