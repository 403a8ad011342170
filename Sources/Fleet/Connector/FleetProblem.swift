package import DefaultsCore

/// A problem that doesn't keep the connector from its work.
package enum FleetProblem: Hashable, Sendable {
    /// A file can't be used.
    case file(MachineID, FleetFileName, FleetFileError)
    /// The system refuses to read a file or a machine's folder; the path, and the number of the error.
    case unreadable(String, Int32)
    /// Files of a machine are missing, although it or another machine has later ones; the number of the first missing
    /// set.
    case missing(MachineID, UInt64)
    /// A tool has renamed a file, or put something in its place that it hasn't brought yet; the name.
    case variant(MachineID, String)
    /// Files of this machine were lost or damaged; they are replaced as soon as nothing waits to be passed on.
    case ownFiles
    /// Another machine was restored or copied: there are two different files with one number, which are both used.
    case copied(MachineID)
    /// An edit is refused.
    case refused(FleetKey, DefaultsError)
    /// A domain is away with its file; the number of its keys.
    case away(DomainName, Int)

    /// Whether each reception finds it again, as long as it lasts.
    var isOfReception: Bool {
        switch self {
        case .file, .unreadable, .missing, .variant, .ownFiles, .copied: true
        case .refused, .away: false
        }
    }
}
