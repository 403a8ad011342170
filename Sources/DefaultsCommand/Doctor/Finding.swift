import DefaultsCore

/// A fact that `defaults doctor` reports, with its remedy.
struct Finding: Hashable {
    /// The importance of a finding; everything except a note needs attention.
    enum Severity: String, CaseIterable {
        /// Something doesn't work.
        case problem
        /// Something doesn't always work, or doesn't work for every program.
        case warning
        /// A fact worth knowing.
        case note
    }

    /// A stable name for programs, in kebab case.
    let id: String
    let severity: Severity
    /// A sentence that says what was found, and where.
    let message: String
    /// A sentence that says what to do.
    let remedy: String
    /// The file or directory that the finding is about, if it is about one.
    var path: String?

    init(_ severity: Severity, id: String, message: String, remedy: String, path: String? = nil) {
        (self.id, self.severity, self.message, self.remedy, self.path) = (id, severity, message, remedy, path)
    }

    /// Creates a finding from an error; `remedy` is for an error without one.
    init(_ severity: Severity, id: String, error: DefaultsError, remedy: String, path: String? = nil) {
        self.init(severity, id: id, message: error.what, remedy: error.remedy ?? remedy, path: path)
    }

    /// The finding as a JSON object.
    var json: String {
        JSONText.object(
            [
                ("id", JSONText.string(id)), ("severity", JSONText.string(severity.rawValue)),
                ("message", JSONText.string(message)), ("remedy", JSONText.string(remedy)),
            ] + (path.map { [("path", JSONText.string($0))] } ?? []))
    }

    /// Returns the finding as two lines: what it is, and the remedy, indented.
    func text(_ style: ChangeText) -> String {
        let width = 9
        let color: ChangeText.Color =
            switch severity {
            case .problem: .red
            case .warning: .yellow
            case .note: .dim
            }
        let title = severity.rawValue.padded(to: width)
        let name = style.colored(severity.rawValue, in: color) + title.dropFirst(severity.rawValue.count)
        return "\(name)\(message.printable)\n\("".padded(to: width))\(remedy.printable)\n"
    }
}

extension [Finding] {
    /// The findings with the most important ones first, otherwise in the same order.
    var byImportance: [Finding] {
        Finding.Severity.allCases.flatMap { severity in filter { $0.severity == severity } }
    }

    /// Whether any of them is more than a note.
    var needAttention: Bool { contains { $0.severity != .note } }

    /// A sentence with the number of findings of each severity.
    var summary: String {
        let counts = Finding.Severity.allCases.compactMap { severity in
            let count = count { $0.severity == severity }
            return count == 0 ? nil : count.counting(severity.rawValue)
        }
        if needAttention { return counts.joined(separator: ", ") + "." }
        return "No problems found." + (counts.isEmpty ? "" : " \(counts.joined(separator: ", ")).")
    }
}

/// Collects findings, each written where the condition for it is.
@resultBuilder
enum FindingList {
    static func buildExpression(_ finding: Finding?) -> [Finding] { [finding].compactMap(\.self) }
    static func buildExpression(_ findings: [Finding]) -> [Finding] { findings }
    static func buildBlock(_ parts: [Finding]...) -> [Finding] { parts.flatMap(\.self) }
    static func buildOptional(_ part: [Finding]?) -> [Finding] { part ?? [] }
    static func buildEither(first part: [Finding]) -> [Finding] { part }
    static func buildEither(second part: [Finding]) -> [Finding] { part }
    static func buildArray(_ parts: [[Finding]]) -> [Finding] { parts.flatMap(\.self) }
}
