/// A `read` without options, or any `write`, which scripts run again and again.
///
/// The parser would take longer than all the rest. And what stands behind the domain of `write` may be anything, also what the
/// parser takes for its own wherever it finds it, as "---" or "--generate-completion-script".
struct QuickCommand {
    private let place: PlaceArguments
    private let domain: String
    private let action: Action

    private enum Action {
        case read(KeyText?)
        case write([String], isPath: Bool)
    }

    /// Takes prepared arguments; `nil` when there is more to them than such a command.
    init?(_ arguments: [String]) {
        var words = Arguments.withoutPlace(arguments)
        let place = PlaceArguments(arguments[..<words.startIndex])
        guard let place, let verb = words.popFirst() else { return nil }
        let isPath = words.first == "--key-path"
        if isPath { words.removeFirst() }
        guard let domain = words.popFirst(), !domain.hasPrefix("-") else { return nil }
        self.place = place
        self.domain = domain
        switch verb {
        case "read" where words.count <= 1 && !words.contains { $0.hasPrefix("-") }:
            action = .read(words.first.map { KeyText(text: $0, isPath: isPath) })
        case "write" where !Write.isHelp(Array(words)):
            action = .write(Array(words), isPath: isPath)
        default: return nil
        }
    }

    func run() throws {
        switch action {
        case .read(let key): try Read.show(domain, key, place, ValueOutput())
        case .write(let operands, let isPath):
            try Write.change(domain, WriteOperands(operands, isPath: isPath), place)
        }
    }
}
