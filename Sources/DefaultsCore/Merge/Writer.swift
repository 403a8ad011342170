/// Who made a change.
package enum Writer: Hashable, Sendable {
    /// An app, the command or a test, through the agent or an embedded store.
    case app(AppIdentity)
    /// Whoever wrote the file.
    case file
    /// The agent, which puts back what a writer that had loaded an older version has overwritten.
    case agent
}

/// A process that edits or subscribes.
package struct AppIdentity: Hashable, Sendable {
    /// The process's number when it connected.
    package var pid: Int32
    /// The path of its executable, empty when it can't be told.
    package var executable: String

    package init(pid: Int32, executable: String) {
        self.pid = pid
        self.executable = executable
    }
}
