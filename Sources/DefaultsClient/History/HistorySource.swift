package import DefaultsCore

/// A backend with a history of its changes.
package protocol HistorySource: Backend {
    /// The position of the newest record when the source was asked first.
    var end: Cursor { get }
    /// Reads a part of the change log, newest first.
    func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage
    /// Makes an edit; returns the position of its record.
    func make(_ edit: EditRequest) throws(DefaultsError) -> Cursor
}

extension HistorySource {
    package func edit(
        _ domain: Domain, with values: Difference, replacesAll: Bool, expecting expected: Difference?, origin: Origin?
    ) throws(DefaultsError) {
        _ = try make(
            EditRequest(
                domain: domain, values: values, replacesAll: replacesAll, writer: .app(.current), expecting: expected,
                origin: origin))
    }
}
