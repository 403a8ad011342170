/// Which edit of which process this is, so that one that is sent again after a lost connection isn't made twice.
package struct EditIdentity: Hashable, Sendable {
    /// A random number that stands for the process as long as it runs.
    package var session: UInt64
    /// The edit's place in the order of the session's edits, from 1 on.
    package var number: UInt64

    package init(session: UInt64, number: UInt64) {
        self.session = session
        self.number = number
    }
}
