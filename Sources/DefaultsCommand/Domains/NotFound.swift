import DefaultsClient
import DefaultsCore
import Glibc
import Linux

/// The failures for domains and keys that don't exist, with suggestions of similar names.
enum NotFound {
    /// Returns the failure for a domain without values.
    ///
    /// - Parameters:
    ///   - open: The domain that has no values.
    ///   - consequence: The end of the error message, saying what was not done.
    /// - Returns: The failure.
    static func domain(_ open: OpenDomain, consequence: String = "") -> Failure {
        let location = open.location
        if let directory = location.directory {
            let path = directory.path(of: location.domain)
            if access(path, F_OK) != 0, errno == EACCES {
                return Failure("\(path) can't be read: \(SystemCall.message(EACCES))\(consequence).", .inputOutput)
            }
            let other = String(path.dropLast(".plist".count))
            if access(path, F_OK) != 0, (try? FileStatus(at: other))?.isRegular == true {
                return Failure(
                    "\(location.subject) does not exist\(consequence). To read \(other), use `defaults convert` or "
                        + "`defaults import`.", .notFound)
            }
        }
        let remedy =
            open.hasValuesForAllUsers
            ? " There are only values for all users. To see them, run "
                + "`defaults read --effective \(location.domain.name)`."
            : suggestedDomain(open)
        return Failure("\(location.subject) does not exist\(consequence).\(remedy)", .notFound)
    }

    /// Returns the failure for a key that a domain doesn't have.
    ///
    /// - Parameters:
    ///   - key: The missing key.
    ///   - keys: The keys that the domain has.
    ///   - location: The domain's location.
    ///   - consequence: The end of the error message, saying what was not done.
    /// - Returns: The failure.
    static func key(
        _ key: String, among keys: some Sequence<String>, of location: DomainLocation, consequence: String = ""
    ) -> Failure {
        let near = Suggestion.question(key, among: keys)
        return Failure("\(location.subject) has no key \"\(key)\"\(consequence).\(near)", .notFound)
    }

    /// Returns a question that suggests an existing domain with a similar name; empty if there is none.
    ///
    /// - Parameters:
    ///   - open: The domain that doesn't exist.
    ///   - noun: A noun before the name, needed if the previous sentence is about something else.
    /// - Returns: The question, with a leading space.
    static func suggestedDomain(_ open: OpenDomain, after noun: String = "") -> String {
        let location = open.location
        // For a file elsewhere, consider only the names of the files beside it, without reading them.
        let others = (try? location.directory.map { try $0.domains() } ?? open.backend.domains()) ?? []
        let names = others.filter { $0.host == location.domain.host }.map(\.name.description)
        guard let near = Suggestion.of(location.domain.name.description, among: names) else { return "" }
        let shown = location.directory.map { "\($0.path)/\(near).plist" } ?? near
        return " Did you mean \(noun)\"\(shown)\"?"
    }
}
