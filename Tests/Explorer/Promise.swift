/// The promises that each trial checks, as *What you can rely on* has them.
enum Promise: String {
    /// "Everything acknowledged is still there"; "A change that another program completes … is never lost … Neither is
    /// an edit of another key"; "the later one wins".
    case nothingLost = "Everything acknowledged is still there"
    /// Every value has been written by some program, and the file's and the agent's are the same.
    case nothingInvented = "No value appears that no program wrote"
    /// A change set is applied as a whole.
    case whole = "An edit is made as a whole"
    /// "Every file parses."
    case parses = "Every file parses"
    /// "A save changes only the bytes of the keys that changed."
    case bytes = "A save changes only the bytes of the keys that changed"
    /// "A save preserves the format, the permissions, …"
    case permissions = "A save preserves the file's permissions and links"
    /// "Followers resume from their cursors", with the bus's promises; see `StreamPromise`.
    case followers = "Followers resume from their cursors"
    /// "No temporary file remains after the next agent or save."
    case clean = "No temporary file remains"
    /// "An edit is durable within a second"; an edit that can't be saved is reported, and "success is reported as
    /// `recovered`".
    case settles = "Saving is retried and succeeds once the obstacle is gone"
    /// Bad input and failures end no process.
    case survives = "No failure ends an agent that runs"
    /// A start is quick, and appends nothing to the log.
    case start = "A start is quick, and the log doesn't grow with starts"
}
