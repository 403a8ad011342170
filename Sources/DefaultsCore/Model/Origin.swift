/// Additional information about an edit: the program that requested it, and its purpose.
///
/// `Writer` is the program that made an edit, as identified by the kernel. The origin is what that program says about
/// the edit: on whose behalf it was made, and for what purpose.
package struct Origin: Hashable, Sendable {
    /// The program on whose behalf the edit was made, if that isn't the writer.
    package var program: String?
    package var purpose: Purpose?

    package init(program: String? = nil, purpose: Purpose? = nil) {
        self.program = program
        self.purpose = purpose
    }

    /// The purpose of an edit.
    package enum Purpose: Hashable, Sendable {
        /// Undoing the change set at a position in the log.
        case undo(Cursor)
        /// Redoing: undoing the undo at a position in the log.
        case redo(Cursor)
        /// Applying a profile with some name.
        case profile(String)
        /// Giving keys that a profile had set their former values.
        case reset(ofProfile: String)
        /// Repeating an edit that was made on another machine.
        case machine(String)
        /// A purpose that this version doesn't know, with its subject.
        case other(String, of: String)
    }

    /// The maximum length of each text, in bytes, since every follower receives them.
    static let maximumLength = 1_024
}

extension Origin.Purpose {
    /// The purpose's name and its subject.
    package var texts: (name: String, subject: String) {
        switch self {
        case .undo(let cursor): ("undo", cursor.description)
        case .redo(let cursor): ("redo", cursor.description)
        case .profile(let name): ("profile", name)
        case .reset(let name): ("reset", name)
        case .machine(let name): ("machine", name)
        case .other(let name, let subject): (name, subject)
        }
    }
}
