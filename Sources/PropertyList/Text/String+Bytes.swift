extension String {
    /// Creates a string from UTF-8; a byte that isn't part of a character becomes U+FFFD.
    @inline(__always)
    init(bytes: UnsafeBufferPointer<UInt8>) {
        self = String(ascii: bytes) ?? String(decoding: bytes, as: UTF8.self)
    }

    /// Creates a string from ASCII; fails for any other text.
    ///
    /// Most text is ASCII, and `String(decoding:as:)` takes longer to find that out: 5% of the time of reading a binary
    /// property list.
    @inline(__always)
    init?(ascii bytes: UnsafeBufferPointer<UInt8>) {
        guard UTF8Validation.firstNonASCII(in: bytes) == nil else { return nil }
        self.init(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: true))
    }

    /// Calls the body with the string's UTF-8.
    ///
    /// Unlike `withUTF8`, it doesn't change the string, so the caller needs no copy, which would be retained.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard let result = utf8.withContiguousStorageIfAvailable(body) else {
            preconditionFailure("Only strings bridged from Objective-C aren't stored as UTF-8.")
        }
        return result
    }
}
