/// What the options of the place say, read without the parser.
struct PlainPlace: PlaceChoice {
    var directory: String?
    var socket: String?
    var currentHost = false
    var host: String?

    /// Reads the options of prepared arguments, which they begin with; `nil` when they aren't complete.
    init?(_ options: ArraySlice<String>) {
        var rest = options
        while let option = rest.popFirst() {
            if option == "-currentHost" {
                currentHost = true
                continue
            }
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else { return nil }
            switch parts[0] {
            case "--directory": directory = value
            case "--socket": socket = value
            case "-host": host = value
            default: return nil
            }
        }
    }
}
