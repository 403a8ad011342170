package import PropertyList

/// A domain's values by key.
package typealias DomainValues = [String: PropertyListValue]

/// What a domain's file held when it was read, whole, in one moment.
package struct FileContents: Sendable {
    package var values: DomainValues
    package var format: PropertyListFormat
    package var version: FileVersion
}

/// One state of a file: its identity, and the hash of its bytes.
package struct FileVersion: Hashable, Sendable {
    package var identity: FileIdentity
    package var hash: ContentHash
}
