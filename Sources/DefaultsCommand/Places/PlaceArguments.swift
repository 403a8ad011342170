/// What the options of the place say, read without the parser.
struct PlaceArguments: PlaceChoice {
    var directory: String?
    var socket: String?
    var currentHost = false
    var host: String?

    /// Reads the options of prepared arguments, which they begin with; `nil` when they aren't complete, which the parser
    /// tells of.
    init?(_ options: ArraySlice<String>) {
        var rest = options
        while let option = rest.popFirst() {
            if option == "-currentHost" {
                currentHost = true
                continue
            }
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // To the parser a word with a dash is an option, and what it should have followed has no value.
            let value = parts.count == 2 ? String(parts[1]) : rest.popFirst().flatMap { $0.hasPrefix("-") ? nil : $0 }
            guard let value else { return nil }
            switch parts[0] {
            case "--directory": directory = value
            case "--socket": socket = value
            case "-host": host = value
            default: return nil
            }
        }
    }
}
