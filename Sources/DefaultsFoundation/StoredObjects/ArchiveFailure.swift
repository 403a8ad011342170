/// Why an archive gives no object, or an object can't be archived.
struct ArchiveFailure: Error, CustomStringConvertible {
    /// A clause, such as "it is not a keyed archive".
    let description: String

    init(_ description: String) { self.description = description }
}
