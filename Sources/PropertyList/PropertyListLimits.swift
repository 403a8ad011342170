/// Bounds on what a reader accepts, so that no input, however hostile, exhausts memory or the stack.
///
/// ```swift
/// let value = try PropertyListValue(parsing: frame, limits: PropertyListLimits(depth: 32, bytes: 1 << 20))
/// ```
public struct PropertyListLimits: Sendable, Hashable {
    /// How many containers may be nested; 512 unless said otherwise.
    ///
    /// Readers and writers don't recurse, but freeing, comparing and hashing a tree do, by a few hundred bytes of
    /// stack a level: raise this only for threads whose stack allows it.
    public var depth: Int

    /// How many bytes of input may be read; 64 MiB unless said otherwise.
    ///
    /// It also bounds the text and data of a binary file, which may share them: there they count each time they occur.
    public var bytes: Int

    /// How many values the tree may hold; 10 million unless said otherwise.
    ///
    /// Values that a binary file shares count each time they occur.
    public var objects: Int

    /// Makes limits; what is left out has its default.
    public init(depth: Int = 512, bytes: Int = 64 << 20, objects: Int = 10_000_000) {
        self.depth = depth
        self.bytes = bytes
        self.objects = objects
    }

    /// The limits, with no more values than a document of so many bytes may stand for.
    ///
    /// A value takes a byte at least, unless a binary property list shares the container that it is in: 404 bytes of arrays
    /// that refer to one another can stand for millions.
    package func proportionate(to bytes: Int, valuesPerByte: Int, atLeast minimum: Int = 0) -> PropertyListLimits {
        let (product, overflows) = bytes.multipliedReportingOverflow(by: valuesPerByte)
        return PropertyListLimits(
            depth: depth, bytes: self.bytes, objects: overflows ? objects : min(objects, max(product, minimum)))
    }
}
