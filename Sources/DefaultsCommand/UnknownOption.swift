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
        let remedy = Arguments.takesDomain(verb) ? " What is behind -- is no option, but a domain or a key." : ""
        return "Unknown option \"\(match.1)\".\(guess)\(remedy)"
    }
}
