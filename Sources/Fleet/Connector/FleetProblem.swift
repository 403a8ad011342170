package import DefaultsCore

/// A problem that doesn't keep the connector from its work.
package enum FleetProblem: Hashable, Sendable {
    /// A file can't be used.
    case file(MachineID, FleetFileName, FleetFileError)
    /// The system refuses to read a file or a machine's folder; the path, and the number of the error.
    case unreadable(String, Int32)
    /// Files of a machine are missing, while later ones have come; the number of the first missing set.
    case missing(MachineID, UInt64)
    /// An edit is refused.
    case refused(FleetKey, DefaultsError)
    /// A domain is away with its file; the number of its keys.
    case away(DomainName, Int)

    /// Whether each reception finds it again, as long as it lasts.
    var isOfReception: Bool {
        switch self {
        case .file, .unreadable, .missing: true
        case .refused, .away: false
        }
    }
}
