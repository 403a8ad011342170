import ArgumentParser

/// Who writes to the file beside the agent, and how.
enum SoakKind: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Writes another file and renames it over the first, as editors do.
    case rename
    /// Truncates the file and writes it anew, as plistlib and many others do.
    case truncate
    /// The two by turns.
    case mixed
    /// Truncates, writes half, waits, and writes the rest.
    case slow
    /// Writes over the file in two halves, without truncating it: half-way it parses, and holds what nobody meant.
    case patch
    /// Foundation's own UserDefaults.
    case foundation
    /// As `rename`, and killed in the middle again and again, at last half-way through writing the file itself.
    ///
    /// What a writer destroys by truncating the file that held it can be saved only as far as anyone has read it; so the
    /// agent is let see the file before.
    case killed
    /// Reads the file, takes up to 2.5 seconds, and writes it whole, in place or by renaming, while keys are set and the
    /// agent ends, by SIGTERM or SIGKILL, and another starts.
    case restarted
    /// Apps with the library, while the agent is killed and started.
    case cooperating
    /// The same, and the apps are killed as well, and begun again.
    case storm
    /// One app that lives long, and uses thousands of suites, while the agent is stopped, ended and replaced.
    case lasting

    /// Whether the writer leaves the file half written.
    var mayTear: Bool { self == .killed }

    /// Whether one agent serves the whole soak, beside a writer that knows nothing of it.
    var hasOneAgent: Bool { ![.restarted, .cooperating, .storm, .lasting].contains(self) }
}
