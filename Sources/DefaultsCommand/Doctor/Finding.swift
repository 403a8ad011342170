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

    init(_ severity: Severity, id: String, _ message: String, remedy: String, path: String? = nil) {
        (self.id, self.severity, self.message, self.remedy, self.path) = (id, severity, message, remedy, path)
    }

    /// Creates a finding from an error.
    ///
    /// - Parameters:
    ///   - severity: The importance.
    ///   - id: The name.
    ///   - error: The error.
    ///   - remedy: The remedy, if the error has none.
    ///   - path: The file or directory that the finding is about.
    init(_ severity: Severity, id: String, _ error: DefaultsError, remedy: String, path: String? = nil) {
        self.init(severity, id: id, error.what, remedy: error.remedy ?? remedy, path: path)
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
        let space = String(repeating: " ", count: width - severity.rawValue.count)
        return "\(style.colored(severity.rawValue, color))\(space)\(message.printable)\n"
            + "\(String(repeating: " ", count: width))\(remedy.printable)\n"
    }
}

extension [Finding] {
    /// Appends a finding.
    mutating func add(
        _ severity: Finding.Severity, id: String, _ message: String, remedy: String, path: String? = nil
    ) { append(Finding(severity, id: id, message, remedy: remedy, path: path)) }

    /// Appends a finding about an error; `remedy` is for an error without one.
    mutating func add(
        _ severity: Finding.Severity, id: String, _ error: DefaultsError, remedy: String, path: String? = nil
    ) { append(Finding(severity, id: id, error, remedy: remedy, path: path)) }

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
