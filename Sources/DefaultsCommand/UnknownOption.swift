/// What is said of an option that there isn't.
enum UnknownOption {
    /// Makes a better message of the parser's, which guesses at any price.
    ///
    /// - Parameter message: what the parser says.
    /// - Returns: the better one; what the parser says of anything else is left as it is.
    static func message(_ message: String) -> String {
        let words = message.split(separator: "'", omittingEmptySubsequences: false)
        guard words.count > 1, words[0] == "Unknown option " else { return message }
        let guess = words.count > 3 ? NearName.question(String(words[1]), among: [String(words[3])]) : ""
        return "Unknown option \"\(words[1])\".\(guess) What is behind -- is no option, but a domain or a key."
    }
}
