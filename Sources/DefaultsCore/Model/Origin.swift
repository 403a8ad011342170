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
        /// Undoing the change set at a position in the log, and older ones within reach.
        case undo(Cursor, UndoReach = UndoReach())
        /// Redoing: undoing the undo at a position in the log, and older ones within reach.
        case redo(Cursor, UndoReach = UndoReach())
        /// Applying a profile with some name.
        case profile(String)
        /// Giving keys that a profile had set their former values.
        case reset(ofProfile: String)
        /// A purpose that this version doesn't know, with its subject.
        case other(String, of: String)
    }

    /// The maximum length of each text, in bytes, since every follower receives them.
    package static let maximumLength = 1_024
}

/// The reach of an undo or a redo of several change sets into the past.
///
/// It reverses all changes to a key from some change on that still stood, and has their net result. It also reverses
/// the undos and redos from there on that reach further back.
package struct UndoReach: Hashable, Sendable {
    /// The number of each key's oldest change, if that isn't the change set that the purpose names.
    ///
    /// Keys that the edit doesn't change are here, too, if their changes canceled each other out.
    package var oldest: [String: Revision]
    /// The number of the first edit for the same purpose in another domain; `nil` if this is the first edit.
    package var first: Revision?

    package init(oldest: [String: Revision] = [:], first: Revision? = nil) {
        self.oldest = oldest
        self.first = first
    }
}

extension Origin.Purpose {
    /// The purpose's name and its subject.
    package var texts: (name: String, subject: String) {
        switch self {
        case .undo(let cursor, _): ("undo", cursor.description)
        case .redo(let cursor, _): ("redo", cursor.description)
        case .profile(let name): ("profile", name)
        case .reset(let name): ("reset", name)
        case .other(let name, let subject): (name, subject)
        }
    }

    /// The reach of an undo or a redo; `nil` for other purposes.
    package var reach: UndoReach? {
        get {
            switch self {
            case .undo(_, let reach), .redo(_, let reach): reach
            case .profile, .reset, .other: nil
            }
        }
        set {
            guard let newValue else { return }
            switch self {
            case .undo(let cursor, _): self = .undo(cursor, newValue)
            case .redo(let cursor, _): self = .redo(cursor, newValue)
            case .profile, .reset, .other: break
            }
        }
    }
}
