/// Who made a change.
package enum Writer: Hashable, Sendable {
    /// An app, the command or a test, through the agent or an embedded store.
    case app(AppIdentity)
    /// Whoever wrote the file.
    case file
    /// The agent, which puts back what a writer that had loaded an older version has overwritten.
    case agent
}
