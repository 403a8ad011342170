import DefaultsCore
import Glibc
import Linux

/// The profile that says which databases dconf uses, the user's own one first.
struct DconfProfile {
    /// The name of the user's own database.
    let name: String

    /// Finds the profile by dconf's rules.
    ///
    /// - Parameters:
    ///   - environment: The environment of the user's programs.
    ///   - root: A directory that stands for the root of the file system.
    /// - Throws: If the profile can't be read, or has no database of the user's that can be switched.
    init(in environment: Environment, root: String = "") throws(Failure) {
        let mandatory = "\(root)/run/dconf/user/\(getuid())"
        let isMandatory = !Path.isMissing(mandatory)
        let named = environment["DCONF_PROFILE"]
        let shared = (environment["XDG_DATA_DIRS"] ?? "/usr/local/share:/usr/share").split(separator: ":")
        func paths(of name: String) -> [String] {
            ["\(root)/etc/dconf/profile/\(name)"] + shared.map { "\(root)\($0)/dconf/profile/\(name)" }
        }
        let paths =
            if isMandatory {
                [mandatory]
            } else if let named {
                Path.isAbsolute(named) ? [named] : paths(of: named)
            } else {
                (environment["XDG_RUNTIME_DIR"].map { ["\($0)/dconf/profile"] } ?? []) + paths(of: "user")
            }
        guard let path = paths.first(where: { !Path.isMissing($0) }) else {
            if let named {
                throw Failure(
                    "dconf's profile \(named) is missing, so dconf has no values. Correct DCONF_PROFILE.", .unavailable)
            }
            name = "user"
            return
        }
        let lines = String(decoding: try InputFile.read(FilePath(path)), as: UTF8.self).split(separator: "\n")
        let sources = lines.map { String($0.prefix { $0 != "#" }).trimmed }.filter { source in
            ["user-db:", "service-db:", "system-db:", "file-db:"].contains { source.hasPrefix($0) }
        }
        guard let first = sources.first, first.hasPrefix("user-db:") else {
            throw Failure(
                "The first database in dconf's profile \(path) isn't a user-db, so it can't be switched.", .unavailable)
        }
        // Elsewhere, a profile with the user's database alone leaves out the values of the system's.
        if isMandatory, sources.count > 1 {
            throw Failure(
                "dconf's profile \(path), which can't be replaced, has databases besides yours, so their values can't "
                    + "be told from yours.", .unavailable)
        }
        name = String(first.dropFirst("user-db:".count))
    }
}

/// The user's own database of dconf, which the program `dconf` reads and writes.
struct DconfDatabase {
    private let program: String
    private let file: String
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
        try file(of: DconfProfile(in: environment), environment)
    }

    private static func file(of profile: DconfProfile, _ environment: Environment) throws -> String {
        try "\(PreferencesDirectory.standardPath(environment))/dconf/\(profile.name)"
    }

    /// Opens the database.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - dumps: The dumps of earlier switches, beside which a file names the database.
    ///   - environment: The environment that says which one is the user's.
    /// - Throws: If the user has none, or another one than at the last switch, or the file can't be written.
    init(program: String, dumps: GSettingsDumps, environment: Environment) throws {
        self.program = program
        let found = try DconfProfile(in: environment)
        file = try Self.file(of: found, environment)
        profile = "\(dumps.directory)/profile"
        let text = Array("user-db:\(found.name)\n".utf8)
        if try dumps.agreement() != nil, !Path.isMissing(profile), try InputFile.read(FilePath(profile)) != text {
            throw Failure(
                "dconf's database is \"\(found.name)\" here, and was another one at the last switch (see \(profile)). "
                    + "Run this with the DCONF_PROFILE of then. If the database has changed for good, remove "
                    + "\(dumps.agreed), and run this again.", .unavailable)
        }
        do throws(SystemCall.Failure) { try NewFile.replace(profile, with: text) } catch {
            throw Failure("\(profile) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Returns all values, in the form of `dconf dump`.
    ///
    /// - Throws: If the file exists and isn't a database that can be read, which dconf takes for an empty one.
    func dump() throws(Failure) -> [UInt8] {
        if !Path.isMissing(file) {
            let header: [UInt8]
            let size: Int
            do throws(SystemCall.Failure) {
                let opened = try FileDescriptor(opening: file, O_RDONLY | O_NONBLOCK)
                size = try Int(opened.status().st_size)
                header = try opened.read(upTo: 24)
            } catch {
                throw Failure(
                    "dconf's file \(file) can't be read: \(SystemCall.message(error.number)). Nothing was changed.",
                    .noInput)
            }
            guard Self.isHeader(header, ofSize: size) else {
                throw Failure(
                    "dconf's file \(file) is damaged, so its values can't be read, and nothing was changed. Restore "
                        + "it from a backup, or remove it if it has no values that you need.", .dataError)
            }
        }
        return try run(["dump", "/"])
    }

    /// Returns whether a file begins as dconf's: with its signature, in either order of bytes, its version, and the
    /// bounds of a table inside the file.
    private static func isHeader(_ bytes: [UInt8], ofSize size: Int) -> Bool {
        guard bytes.count == 24, bytes.starts(with: "GVariant".utf8) || bytes.starts(with: "raVGtnai".utf8) else {
            return false
        }
        func number(at offset: Int) -> Int {
            bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let (start, end) = (number(at: 16), number(at: 20))
        return number(at: 8) == 0 && start & 3 == 0 && start <= end && end <= size
    }

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
