/// What is said of an option that there isn't.
enum UnknownOption {
    /// Makes a better message of the parser's, which guesses at any price.
    ///
    /// - Parameters:
    ///   - message: what the parser says.
    ///   - verb: the verb, if there is one.
    /// - Returns: the better one; what the parser says of anything else is left as it is.
    static func message(_ message: String, of verb: String?) -> String {
        guard let match = message.wholeMatch(of: /Unknown option '(.+?)'\.?( Did you mean '(.+)'\?)?/) else {
            return message
        }
        return self.message(String(match.1), among: match.3.map { [String($0)] } ?? [], of: verb)
    }

    /// What is said of an option, with the one that is nearest to it among others, and to who has a domain or a key of such
    /// a name.
    static func message(_ option: String, among known: [String], of verb: String?) -> String {
        let remedy = Arguments.takesDomain(verb) ? " What is behind -- is no option, but a domain or a key." : ""
        return "Unknown option \"\(option)\".\(NearName.question(option, among: known))\(remedy)"
    }
}
