/// What the change log's file notes about a domain's file, so that a later agent knows whether it changed meanwhile.
package struct FileMark: Hashable, Sendable {
    package var domain: Domain
    /// The hash of the file's bytes, `nil` for no file.
    package var hash: ContentHash?
    /// The file and `pending` together are what the log's records up to this revision led to.
    package var revision: Revision
    /// Edits that the file doesn't hold.
    package var pending: [String: Edit]
    /// Whether the file is about to be replaced by this, and perhaps never was.
    package var isIntent: Bool
    /// Whether it was told that something is wrong with the domain, and not yet that it is over.
    package var isTroubled: Bool

    package init(
        domain: Domain, hash: ContentHash?, revision: Revision, pending: [String: Edit] = [:], isIntent: Bool = false,
        isTroubled: Bool = false
    ) {
        self.domain = domain
        self.hash = hash
        self.revision = revision
        self.pending = pending
        self.isIntent = isIntent
        self.isTroubled = isTroubled
    }
}
