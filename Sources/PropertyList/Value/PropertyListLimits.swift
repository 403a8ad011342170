/// Limits on the input of a reader, so that no input, however hostile, exhausts memory or the stack.
///
/// ```swift
/// let value = try PropertyListValue(parsing: frame, limits: PropertyListLimits(depth: 32, bytes: 1 << 20))
/// ```
public struct PropertyListLimits: Sendable, Hashable {
    /// The maximum nesting depth of containers; 512 by default.
    ///
    /// Readers and writers don't recurse, but freeing, comparing and hashing a tree do. These operations need a few
    /// hundred bytes of stack per level, so raise the limit only for threads with enough stack.
    public var depth: Int

    /// The maximum size of the input in bytes; 64 MiB by default.
    ///
    /// It also limits the text and data of a binary file. Shared text and data count once per use.
    public var bytes: Int

    /// The maximum number of values in the tree; 10 million by default.
    ///
    /// Values shared within a binary file count once per use.
    public var objects: Int

    /// Creates limits; omitted limits have their default values.
    public init(depth: Int = 512, bytes: Int = 64 << 20, objects: Int = 10_000_000) {
        self.depth = depth
        self.bytes = bytes
        self.objects = objects
    }

    /// The limits of a domain's file, unless the agent's settings change them.
    ///
    /// The depth is below the default's, since `DefaultsCore` sends values inside messages.
    package static let domainFile = PropertyListLimits(depth: 500)

    /// Returns these limits, with the number of values reduced in proportion to a document's size.
    ///
    /// Every value needs at least one byte, unless a binary property list shares its container: 404 bytes of arrays
    /// that refer to one another can represent millions of values.
    package func proportionate(to bytes: Int, valuesPerByte: Int, atLeast minimum: Int = 0) -> PropertyListLimits {
        let (product, overflows) = bytes.multipliedReportingOverflow(by: valuesPerByte)
        return PropertyListLimits(
            depth: depth, bytes: self.bytes, objects: overflows ? objects : min(objects, max(product, minimum)))
    }
}
