import DefaultsCore
import DefaultsKit
import Glibc

/// What is said of domains and keys that aren't there: which, where, and a near name.
enum NotFound {
    /// A domain without values.
    ///
    /// - Parameters:
    ///   - open: the domain, beside which there may be one with a near name.
    ///   - consequence: what isn't done therefore, as the end of the sentence.
    /// - Returns: the failure, with the status for what isn't found.
    static func domain(_ open: OpenDomain, _ consequence: String = "") -> Failure {
        let place = open.place
        if let directory = place.directory {
            let path = directory.path(of: place.domain)
            if access(path, F_OK) != 0, errno == EACCES {
                return Failure("\(path) can't be read: \(SystemCall.message(EACCES))\(consequence).", .inputOutput)
            }
            let other = String(path.dropLast(".plist".count))
            var status = stat()
            if access(path, F_OK) != 0, stat(other, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                return Failure(
                    "\(place.subject) does not exist\(consequence). \(other) does: `defaults convert` reads files of any "
                        + "name, and `defaults import` takes keys from them.", .notFound)
            }
        }
        return Failure("\(place.subject) does not exist\(consequence).\(nearDomain(open))", .notFound)
    }

    /// A key that a domain hasn't got.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - keys: those that the domain has.
    ///   - place: where the domain is.
    ///   - consequence: what isn't done therefore, as the end of the sentence.
    /// - Returns: the failure, with the status for what isn't found.
    static func key(
        _ key: String, among keys: some Sequence<String>, of place: DomainPlace, _ consequence: String = ""
    ) -> Failure {
        let near = NearName.question(key, among: keys)
        return Failure("\(place.subject) has no key \"\(key)\"\(consequence).\(near)", .notFound)
    }

    /// A question for a domain with a near name, as it would be typed, that is there; empty when there is none.
    ///
    /// - Parameters:
    ///   - open: the domain that isn't there.
    ///   - noun: what the name is called, where the sentence before it is about something else.
    /// - Returns: the question, with a space before it.
    static func nearDomain(_ open: OpenDomain, _ noun: String = "") -> String {
        let place = open.place
        // Of a file elsewhere those beside it, by their names alone: what they hold is nobody's business.
        let others = (try? place.directory.map { try $0.domains() } ?? open.backend.domains()) ?? []
        let names = others.filter { $0.host == place.domain.host }.map(\.name.description)
        guard let near = NearName.of(place.domain.name.description, among: names) else { return "" }
        let shown = place.directory.map { "\($0.path)/\(near).plist" } ?? near
        return " Did you mean \(noun)\"\(shown)\"?"
    }
}
