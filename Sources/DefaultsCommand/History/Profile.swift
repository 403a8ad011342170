import DefaultsCore
import PropertyList

/// A profile: the keys of some domains to set or remove, as `defaults record` prints and `defaults apply` reads it.
///
/// In a file, it is a property list with the entry `Domains`, an array of dictionaries. Each has the entries `Domain`,
/// `Host` (omitted for any host), `Set` (a dictionary) and `Remove` (an array of keys).
struct Profile {
    var edits: [Domain: Difference] = [:]

    init() {}

    /// Reads a profile.
    ///
    /// - Throws: A `Failure` that names the entry that isn't valid.
    init(_ document: InputDocument) throws(Failure) {
        let values = try document.values("; nothing was applied")
        guard case .array(let entries)? = values["Domains"] else {
            throw Self.wrong(document, "the entry \"Domains\" must be an array of dictionaries")
        }
        for (index, entry) in entries.enumerated() {
            func refuse(_ problem: String) -> Failure { Self.wrong(document, "Domains.\(index): \(problem)") }
            guard case .dictionary(let fields) = entry, case .string(let name)? = fields["Domain"] else {
                throw refuse("expected a dictionary with a string \"Domain\"")
            }
            let domain: Domain
            var host: String?
            switch fields["Host"] {
            case nil: break
            case .string(let text)?: host = text
            default: throw refuse("\"Host\" must be a string")
            }
            do throws(DefaultsError) {
                domain = Domain(try DomainName(name), host: try DomainHost(identifier: host))
            } catch {
                throw refuse(error.description)
            }
            if edits[domain] != nil { throw refuse("the profile already has the domain \(domain)") }
            var edit: Difference = [:]
            switch fields["Remove"] {
            case nil: break
            case .array(let keys)?:
                for key in keys {
                    guard case .string(let key) = key else { throw refuse("\"Remove\" must be an array of keys") }
                    edit[key] = .some(nil)
                }
            default: throw refuse("\"Remove\" must be an array of keys")
            }
            switch fields["Set"] {
            case nil: break
            case .dictionary(let values)?:
                if let key = values.keys.sorted().first(where: { edit[$0] != nil }) {
                    throw refuse("\"\(key.printable)\" is in both \"Set\" and \"Remove\"")
                }
                for (key, value) in values { edit[key] = .some(value) }
            default: throw refuse("\"Set\" must be a dictionary")
            }
            if let unknown = fields.keys.sorted().first(where: { !["Domain", "Host", "Set", "Remove"].contains($0) }) {
                throw refuse("\"\(unknown.printable)\" isn't an entry of a profile")
            }
            edits[domain] = edit
        }
    }

    private static func wrong(_ document: InputDocument, _ problem: String) -> Failure {
        let end = problem.hasSuffix(".") ? "" : "."
        return Failure("\(document.name) isn't a profile: \(problem)\(end) Nothing was applied.", .dataError)
    }

    /// Adds the changes of a change set, of which only the last to each key remains.
    mutating func add(_ changeSet: ChangeSet) {
        for change in changeSet.changes { edits[changeSet.domain, default: [:]][change.key] = .some(change.new) }
    }

    /// The profile as a property list.
    var value: PropertyListValue {
        let domains = edits.sorted { $0.key < $1.key }.map { domain, edit in
            var fields: DomainValues = ["Domain": .string(domain.name.description)]
            fields["Host"] = domain.host.identifier.map { .string($0) }
            let removed = edit.filter { $1 == nil }.keys.sorted()
            if removed.count < edit.count { fields["Set"] = .dictionary(edit.compactMapValues(\.self)) }
            if !removed.isEmpty { fields["Remove"] = .array(removed.map { .string($0) }) }
            return PropertyListValue.dictionary(fields)
        }
        return ["Domains": .array(domains)]
    }
}

extension Profile {
    /// A shell script that makes the same edits.
    ///
    /// Each edit is a line with `defaults write` or `defaults delete`. The edits that no arguments express exactly,
    /// such as those of long values and of text with NULs, are a profile at the end of the script.
    func commands() throws -> String {
        var script = ""
        var rest = Profile()
        for (domain, edit) in edits.sorted(by: { $0.key < $1.key }) {
            for (key, value) in edit.sorted(by: { $0.key < $1.key }) {
                if let line = Self.line(setting: key, of: domain, to: value) {
                    script += line
                } else {
                    rest.edits[domain, default: [:]][key] = .some(value)
                }
            }
        }
        if rest.edits.isEmpty { return script }
        var encoded: [UInt8] = []
        Base64.encode(try rest.value.write(as: .binary)[...], to: &encoded)
        return script
            + """
            base64 -d <<'END' | defaults apply --name record -
            \(String(decoding: encoded, as: UTF8.self))
            END

            """
    }

    /// The maximum length of a line, which is half of what Linux allows for an argument.
    private static let longestLine = 1 << 16

    /// Returns the command that makes an edit; `nil` if no arguments express it exactly.
    private static func line(setting key: String, of domain: Domain, to value: PropertyListValue?) -> String? {
        let name = domain.name.description
        let host = domain.host.identifier
        // As arguments, these are something else, or refused.
        if name.hasSuffix(".plist") || host?.hasPrefix("-") ?? false { return nil }
        let hasDash = (domain: name.hasPrefix("-"), key: key.hasPrefix("-"))
        var words = ["defaults"] + (host.map { ["-host", $0] } ?? []) + [value == nil ? "delete" : "write"]
        if key.utf8.contains(where: ".\\".utf8.contains) { words.append("--literal-key") }
        if let value {
            guard let arguments = arguments(for: value) else { return nil }
            words += (hasDash.domain ? ["--"] : []) + [name] + (hasDash.key ? ["--"] : []) + [key] + arguments
        } else {
            words += (hasDash.domain || hasDash.key ? ["--"] : []) + [name, key]
        }
        let line = words.map(\.quotedForShell).joined(separator: " ") + "\n"
        return line.utf8.count > longestLine || line.utf8.contains(0) ? nil : line
    }

    /// Returns the arguments of `write` that set a value; `nil` if they would set another one.
    private static func arguments(for value: PropertyListValue) -> [String]? {
        let arguments: [String]
        switch value {
        case .string(let text): arguments = ["-string", text]
        case .integer(let number): arguments = ["-int", "\(number)"]
        case .unsigned(let number): arguments = ["-int", "\(number)"]
        case .real(let number): arguments = ["-float", "\(number)"]
        case .boolean(let flag): arguments = ["-bool", "\(flag)"]
        case .date(let date): arguments = ["-date", date.description]
        case .data(let bytes):
            arguments = ["-data", bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()]
        case .real32, .uid, .array, .dictionary:
            guard let text = try? value.write(as: .xml) else { return nil }
            arguments = [String(decoding: text, as: UTF8.self)]
        }
        var rest = arguments[...]
        return (try? TypedValue.parse(&rest)) == value ? arguments : nil
    }
}
