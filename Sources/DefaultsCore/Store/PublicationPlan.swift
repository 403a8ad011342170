import PropertyList

/// What is to be published for a domain, as it was decided in one moment.
struct PublicationPlan {
    /// The edits that the new version takes in.
    var edits: [String: Edit]
    /// The new version; empty for none.
    var values: DomainValues
    var format: PropertyListFormat
    /// The state of the file that is to be replaced.
    var expected: FileVersion?
    /// Why that file can't be taken, and must be copied aside first.
    var damage: FileDamage?
    /// Whether that file has keys that the new version lacks, and must be copied aside first.
    var losesEquivalentKeys: Bool
    /// All of the log up to here is in the new version.
    var revision: Revision
    /// When the newest of the edits was made.
    var newest: Timestamp? { edits.values.map(\.time).max() }
    /// How many versions the history has had before the new one.
    var total: Int
}
