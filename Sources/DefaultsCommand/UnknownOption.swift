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
        let guess = match.3.map { NearName.question(String(match.1), among: [String($0)]) } ?? ""
        return "Unknown option \"\(match.1)\".\(guess)\(Arguments.takesDomain(verb) ? remedy : "")"
    }

    /// What is said to who has a domain or a key of such a name.
    static let remedy = " What is behind -- is no option, but a domain or a key."
}
