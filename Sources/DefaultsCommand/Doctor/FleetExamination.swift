import DefaultsCore
import Glibc
import PropertyList

/// The fleet that this machine is a member of, as `defaults-fleet` sees it.
enum FleetExamination {
    /// Returns what is wrong with the fleet; nothing if the machine is in none.
    static func findings(_ directory: PreferencesDirectory, in environment: Environment) -> [Finding] {
        guard let home = LogLocation.fleetDirectory(for: directory, environment: environment),
            access("\(home)/member", F_OK) == 0
        else { return [] }
        func finding(_ message: String, remedy: String = "See `defaults fleet status`.") -> Finding {
            Finding(.problem, id: "fleet", message: message, remedy: remedy, path: home)
        }
        guard let program = SiblingProgram.find("defaults-fleet") else {
            return [
                finding(
                    "This machine is in a fleet, but defaults-fleet isn't installed.",
                    remedy: "Install defaultsd again.")
            ]
        }
        if directory.isExplicit { setenv("DEFAULTS_DIRECTORY", directory.path, 1) }
        let arguments = [program, "status", "--json"]
        let run = try? ProgramOutput.run(program, arguments, within: .seconds(10), limit: 64 << 20)
        guard let run, let status = run.status else { return [finding("The fleet's state can't be read in time.")] }
        guard status == 0, case .dictionary(let entries)? = try? JSONReader.read(run.output),
            case .array(let problems)? = entries["problems"]
        else {
            let reason = String(decoding: run.errors, as: UTF8.self).split(separator: "\n").first.map { line in
                line.hasPrefix("defaults: ") ? String(line.dropFirst(10)) : String(line)
            }
            return [finding(reason ?? "The fleet's state can't be read.")]
        }
        return problems.compactMap { problem in
            guard case .string(let message) = problem else { return nil }
            return Finding(.warning, id: "fleet", message: message, remedy: "See `defaults fleet status`.", path: home)
        }
    }
}
