import DefaultsCore
import PropertyList

/// A profile: the keys of some domains to set or remove, as `defaults record` prints and `defaults apply` reads it.
///
/// In a file, it is a property list with the entry `Domains`, an array of dictionaries with the entries `Domain`,
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
