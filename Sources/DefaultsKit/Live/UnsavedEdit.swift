import DefaultsCore
import PropertyList

/// An edit of this process that isn't known to be in its file yet.
struct UnsavedEdit: Sendable {
    /// Its place in the order of the process's edits, from 1 on; `UnsavedEdits` gives it.
    var number: UInt64 = 0
    var domain: Domain
    /// The keys that it set or removed.
    var values: Difference
    /// What they held before.
    var replacing: DomainValues
    /// When it was set.
    var time: Timestamp
    /// Whether the agent got it so late that it must be compared with what others have done since.
    var isLate = false

    /// The edit as it is asked for.
    ///
    /// - Parameters:
    ///   - session: the process's number.
    ///   - isAgain: whether it was asked for before, and may have been made.
    /// - Returns: the request.
    func request(session: UInt64, isAgain: Bool) -> EditRequest {
        EditRequest(
            domain: domain, values: values, time: time, writer: .app(.current),
            identity: EditIdentity(session: session, number: number), replacing: isAgain ? replacing : nil)
    }
}
