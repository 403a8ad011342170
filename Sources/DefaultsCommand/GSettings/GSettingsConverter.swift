import DefaultsCore
import Linux
import PropertyList

/// Values of GSettings, by the names of their domains and by their keys.
typealias GSettingsValues = [String: DomainValues]

/// The program `defaults-gsettings`, which converts values by the mapping of GSettings' backend.
struct GSettingsConverter {
    /// Converted values, in the only form that the mapping has for them.
    struct Outcome {
        var domains: GSettingsValues = [:]
        /// The path of each domain.
        var paths: [String: String] = [:]
        /// The values as a dump of dconf, in which each has a line.
        var dump = ""
        /// The full names of the keys whose values can't be converted.
        var unfit: [String] = []
        /// The full names of the keys whose types nothing shows.
        var guessed: Set<String> = []

        /// The keys whose values can't be converted, by their domains.
        var unfitKeys: [String: Set<String>] {
            var keys: [String: Set<String>] = [:]
            for name in unfit {
                guard let slash = name.lastIndex(of: "/"), let domain = DomainName(gsettingsPath: "\(name[...slash])")
                else { continue }
                keys[domain.description, default: []].insert(String(name[slash...].dropFirst()))
            }
            return keys
        }
    }

    private let program: String

    /// The sentence about what to install if the backend is missing.
    static let installation =
        "Install the package defaultsd-gsettings-backend, or run Config/gsettings-backend in the source tree."

    private static let name = "defaults-gsettings"
    private static let time = Duration.seconds(60)
    private static let limit = 256 << 20

    /// Finds the program; fails if it isn't installed.
    init?() {
        // The backend's package and that of this command may have other prefixes.
        let others = ["/usr/local/libexec/\(Self.name)", "/usr/libexec/\(Self.name)"]
        guard let program = SiblingProgram.find(Self.name) ?? others.first(where: Path.isProgram) else { return nil }
        self.program = program
    }

    /// Returns the names of the backends that GIO finds.
    func backends() throws(Failure) -> [String] {
        String(decoding: try run(["backends"]), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Returns the values in a dump of dconf.
    func values(inDump dump: [UInt8]) throws(Failure) -> Outcome {
        try outcome(try run(["decode"], input: dump))
    }

    /// Returns values, without the domains that aren't those of GSettings.
    ///
    /// - Parameters:
    ///   - domains: The values of domains.
    ///   - dumps: The paths of dumps, the latest last, which say which domains are those of GSettings, and which types
    ///     keys without a schema have.
    /// - Returns: The values.
    /// - Throws: If they can't be converted at all.
    func values(_ domains: GSettingsValues, typedBy dumps: [String]) throws(Failure) -> Outcome {
        let input: [UInt8]
        do throws(PropertyListError) {
            input = try PropertyListValue.dictionary(domains.mapValues { .dictionary($0) }).write(as: .binary)
        } catch {
            throw Failure("The preferences can't be converted: \(error)", .dataError)
        }
        return try outcome(try run(["encode"] + dumps, input: input))
    }

    private func run(_ arguments: [String], input: [UInt8] = []) throws(Failure) -> [UInt8] {
        let run = try ProgramOutput.run(
            program, [program] + arguments, within: Self.time, limit: Self.limit, input: input)
        guard let status = run.status else { throw Failure("\(program) doesn't answer.", .temporaryFailure) }
        guard status == 0 else {
            let reason = ProgramOutput.firstLine(run.errors) ?? "status \(status)"
            throw Failure("\(program) failed: \(reason)", .dataError)
        }
        return run.output
    }

    private func outcome(_ output: [UInt8]) throws(Failure) -> Outcome {
        let invalid = Failure("The answer of \(program) can't be read. Install the same version of both.", .dataError)
        let answer: PropertyListValue
        do throws(PropertyListError) { answer = try PropertyListValue(parsing: output) } catch { throw invalid }
        guard case .dictionary(let entries) = answer, case .dictionary(let domains)? = entries["domains"],
            case .string(let dump)? = entries["dump"], case .array(let unfit)? = entries["unfit"],
            case .array(let guessed)? = entries["guessed"]
        else { throw invalid }
        var outcome = Outcome(dump: dump)
        for (name, domain) in domains {
            guard case .dictionary(let parts) = domain, case .string(let path)? = parts["path"],
                case .dictionary(let values)? = parts["values"]
            else { throw invalid }
            outcome.domains[name] = values
            outcome.paths[name] = path
        }
        func names(_ list: [PropertyListValue]) -> [String] {
            list.compactMap { if case .string(let name) = $0 { name } else { nil } }.sorted()
        }
        outcome.unfit = names(unfit)
        outcome.guessed = Set(names(guessed))
        return outcome
    }
}

extension GSettingsConverter.Outcome {
    /// Returns the lines of the dump that set some keys.
    ///
    /// - Parameter isWanted: Whether a key of a domain is one of them.
    /// - Returns: A dump.
    func dump(where isWanted: (_ domain: String, _ key: String) -> Bool) -> String {
        let names = Dictionary(paths.map { ($1, $0) }) { first, _ in first }
        var lines: [String] = []
        var domain = ""
        for line in dump.split(separator: "\n") {
            if line.hasPrefix("["), line.hasSuffix("]") {
                let group = line.dropFirst().dropLast()
                domain = names[group == "/" ? "/" : "/\(group)/"] ?? ""
                lines += ["", String(line)]
            } else if let equals = line.firstIndex(of: "="), isWanted(domain, String(line[..<equals])) {
                lines.append(String(line))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
