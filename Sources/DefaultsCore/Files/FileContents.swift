package import PropertyList

/// A domain's values by key.
package typealias DomainValues = [String: PropertyListValue]

/// What a domain's file held when it was read, whole, in one moment.
package struct FileContents: Sendable {
    package var values: DomainValues
    package var format: PropertyListFormat
    package var version: FileVersion
    /// Whether a dictionary has keys that differ only in Unicode normalization: in `values` they are one.
    package var hasEquivalentKeys = false
    /// The mark of the store that published it, which had merged it with what was there.
    package var publication: PublicationMark?

    /// When it came to be: when the newest edit was made of what a store published, else when the file changed.
    package var time: Timestamp {
        // A mark from the future says nothing; the file is no younger than its times.
        publication?.newest.map { min($0, version.identity.changed) } ?? version.identity.changed
    }
}

/// One state of a file: its identity, and the hash of its bytes.
package struct FileVersion: Hashable, Sendable {
    package var identity: FileIdentity
    package var hash: ContentHash
    /// Whether a file of the same identity holds the same bytes.
    ///
    /// It does if it was old enough when its bytes were read that a later change must bear other times. How old it is
    /// when it is looked at again says nothing.
    var isSettled: Bool

    package static func == (first: FileVersion, second: FileVersion) -> Bool {
        first.identity == second.identity && first.hash == second.hash
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(hash)
    }
}
