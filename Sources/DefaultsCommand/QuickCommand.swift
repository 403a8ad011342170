/// A `read` without options, or any `write`, which runs without the parser.
///
/// Scripts run these commands most, and the parser would take longer than the rest of the command. Also, the words
/// after the domain of `write` may be anything, including words that the parser intercepts anywhere, such as "---" or
/// "--generate-completion-script".
struct QuickCommand {
    private let location: LocationArguments
    private let domain: String
    private let action: Action

    private enum Action {
        case read(KeyText?)
        case write([String], KeyText.Reading)
    }

    /// Creates the command from prepared arguments; fails if they are any other command.
    init?(_ arguments: [String]) {
        var words = Arguments.withoutLocation(arguments)
        let location = LocationArguments(arguments[..<words.startIndex])
        guard let location, let verb = words.popFirst() else { return nil }
        let reading = words.first.flatMap(KeyText.Reading.init(option:))
        if reading != nil { words.removeFirst() }
        guard let domain = words.popFirst(), !domain.hasPrefix("-") else { return nil }
        self.location = location
        self.domain = domain
        switch verb {
        case "read" where words.count <= 1 && !words.contains { $0.hasPrefix("-") }:
            action = .read(words.first.map { KeyText(text: $0, reading: reading ?? .either) })
        case "write" where !Write.isHelp(Array(words)):
            action = .write(Array(words), reading ?? .either)
        default: return nil
        }
    }

    func run() throws {
        switch action {
        case .read(let key): try Read.show(domain, key, at: location, as: ValueOutput())
        case .write(let operands, let reading):
            try Write.change(domain, WriteOperands(operands, reading: reading), at: location)
        }
    }
}
