import ArgumentParser

/// A kind of soak test: the way in which the file is written next to the agent, and the fate of the programs.
enum SoakKind: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Writes a new file and renames it over the old one, as editors do.
    case rename
    /// Truncates the file and rewrites it, as plistlib and many others do.
    case truncate
    /// `rename` and `truncate` in turn.
    case mixed
    /// Truncates the file, writes half of it, waits, and writes the rest.
    case slow
    /// Overwrites the file in two halves without truncating it.
    ///
    /// After the first half, the file parses, but has contents that no program intended.
    case patch
    /// Foundation's own UserDefaults.
    case foundation
    /// Like `rename`, but killed at a random point in each round, and again halfway through writing the file in place.
    ///
    /// When a writer truncates a file, only contents that were read earlier can be restored, so the agent gets time to
    /// read the file first.
    case killed
    /// Reads the file, waits up to 2.5 seconds, and writes all of it, in place or by renaming.
    ///
    /// Meanwhile, keys are set, and the agent is ended by SIGTERM or SIGKILL and replaced.
    case restarted
    /// Apps with the library, while the agent is killed and restarted.
    case cooperating
    /// Like `cooperating`, with the apps killed and restarted as well.
    case storm
    /// Eight processes that use the library in every way, compared with a model, while the agent comes and goes.
    case random
    /// One long-lived app that uses thousands of suites, while the agent is suspended, ended and replaced.
    case lasting
    /// Sessions of `defaults bridge`, while the agent is ended, upgraded and suspended.
    case bridge
    /// Programs with the Python package, in the same way.
    case python
    /// Many sessions of one agent over the same directories, ended by SIGTERM, SIGKILL, upgrades and a full disk.
    ///
    /// Neither the files nor the figures of a start may grow with the number of sessions.
    case life

    /// Whether the writer may leave the file half-written.
    var mayTear: Bool { self == .killed }

    /// Whether one agent runs for the whole soak, beside a foreign writer.
    var hasOneAgent: Bool {
        switch self {
        case .rename, .truncate, .mixed, .slow, .patch, .foundation, .killed: true
        case .restarted, .cooperating, .storm, .random, .lasting, .bridge, .python, .life: false
        }
    }
}
