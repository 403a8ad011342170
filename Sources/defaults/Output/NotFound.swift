import DefaultsCore
import DefaultsKit

/// What is said of domains and keys that aren't there: which, where, and a near name.
enum NotFound {
    /// A domain without values.
    ///
    /// - Parameters:
    ///   - domain: the domain.
    ///   - backend: among whose domains there may be a near name.
    ///   - consequence: what isn't done therefore, as the end of the sentence.
    /// - Returns: the failure, with the status for what isn't found.
    static func domain(_ domain: Domain, in backend: any Backend, _ consequence: String = "") -> Failure {
        let names = ((try? backend.domains()) ?? []).filter { $0.host == domain.host }.map(\.name.description)
        let near = NearName.question(domain.name.description, among: names)
        return Failure("The domain \(domain) does not exist\(consequence).\(near)", .notFound)
    }

    /// A key that a domain hasn't got.
    static func key(_ key: String, in snapshot: DomainSnapshot, _ consequence: String = "") -> Failure {
        let near = NearName.question(key, among: snapshot.values.keys)
        return Failure("The domain \(snapshot.domain) has no key \"\(key)\"\(consequence).\(near)", .notFound)
    }
}
