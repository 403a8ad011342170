/// A `read` of a domain or a key without options, which scripts run again and again.
///
/// The parser would take longer than all the rest.
struct QuickRead {
    private let place: PlaceArguments
    private let domain: String
    private let key: KeyText?

    /// Takes prepared arguments; `nil` when there is more to them than a `read`, a domain and perhaps a key.
    init?(_ arguments: [String]) {
        let words = Arguments.withoutPlace(arguments)
        guard words.first == "read", (2...3).contains(words.count), !words.contains(where: { $0.hasPrefix("-") }),
            let place = PlaceArguments(arguments[..<words.startIndex])
        else { return nil }
        self.place = place
        domain = words[words.startIndex + 1]
        key = words.count == 3 ? KeyText(text: words[words.startIndex + 2], isPath: false) : nil
    }

    func run() throws { try Read.show(domain, key, place, ValueOutput()) }
}
