/// A `read` or `write` of a domain without options before it, which scripts run again and again.
///
/// The parser would take longer than all the rest.
struct QuickCommand {
    private let place: PlaceArguments
    private let domain: String
    private let action: Action

    private enum Action {
        case read(KeyText?)
        case write([String])
    }

    /// Takes prepared arguments; `nil` when there is more to them than such a command.
    init?(_ arguments: [String]) {
        let words = Arguments.withoutPlace(arguments)
        guard words.count >= 2, let place = PlaceArguments(arguments[..<words.startIndex]) else { return nil }
        self.place = place
        domain = words[words.startIndex + 1]
        let operands = Array(words.dropFirst(2))
        if domain.hasPrefix("-") { return nil }
        switch words.first {
        case "read" where operands.count <= 1 && !operands.contains { $0.hasPrefix("-") }:
            action = .read(operands.first.map { KeyText(text: $0, isPath: false) })
        case "write" where !Write.isHelp(operands):
            action = .write(operands)
        default: return nil
        }
    }

    func run() throws {
        switch action {
        case .read(let key): try Read.show(domain, key, place, ValueOutput())
        case .write(let operands): try Write.change(domain, operands, isPath: false, place)
        }
    }
}
