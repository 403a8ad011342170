/// A text document as valid UTF-8 without a byte order mark.
///
/// The text is the input itself if possible, otherwise a transcoded copy. Errors at an offset in the text are reported
/// with the line, column and byte offset in the input.
struct TextSource: ~Copyable {
    /// The text; valid while both this value and the input exist.
    let utf8: UnsafeBufferPointer<UInt8>

    private let format: PropertyListFormat
    private let encoding: TextEncoding
    private let mark: Int
    private let copy: UnsafeMutableBufferPointer<UInt8>?

    private init(
        _ body: UnsafeBufferPointer<UInt8>, copy: UnsafeMutableBufferPointer<UInt8>?, format: PropertyListFormat,
        encoding: TextEncoding, mark: Int
    ) {
        utf8 = copy.map { UnsafeBufferPointer($0) } ?? body
        self.copy = copy
        self.format = format
        self.encoding = encoding
        self.mark = mark
    }

    /// Detects the encoding, validates the text, and transcodes it if necessary.
    static func open(
        _ bytes: UnsafeRawBufferPointer, format: PropertyListFormat
    ) throws(PropertyListError) -> TextSource {
        let input = bytes.assumingMemoryBound(to: UInt8.self)
        let encoding: TextEncoding
        let mark: Int
        do throws(ReadingFailure) {
            (encoding, mark) = try TextEncoding.detect(input, format: format)
        } catch {
            // Only ASCII precedes the encoding's name, so the input can be treated as UTF-8.
            throw TextSource(input, copy: nil, format: format, encoding: .utf8, mark: 0).error(error)
        }
        let body = UnsafeBufferPointer(rebasing: input[mark...])
        var copy: UnsafeMutableBufferPointer<UInt8>?
        var failure: ReadingFailure?
        switch encoding {
        case .utf8:
            if let offset = UTF8Validation.firstInvalidOffset(in: body) {
                failure = ReadingFailure(
                    code: .invalidText, offset: offset, message: "byte \(hexadecimal(body[offset])) is not valid UTF-8")
            }
        case .ascii:
            if let offset = UTF8Validation.firstNonASCII(in: body) {
                failure = ReadingFailure(
                    code: .invalidText, offset: offset,
                    message: "the document says it is in US-ASCII, but contains byte \(hexadecimal(body[offset]))")
            }
        case .latin1:
            var output = MoveStack<UInt8>(minimumCapacity: body.count)
            for byte in body { output.append(Unicode.Scalar(byte)) }
            copy = Self.copy(of: output)
        case .utf16LittleEndian, .utf16BigEndian:
            var output = MoveStack<UInt8>(minimumCapacity: body.count)
            failure = transcodeUTF16(body, bigEndian: encoding == .utf16BigEndian, to: &output)
            copy = Self.copy(of: output)
        }
        let source = TextSource(body, copy: copy, format: format, encoding: encoding, mark: mark)
        if let failure { throw source.error(failure) }
        return source
    }

    deinit {
        copy?.deallocate()
    }

    /// Converts a failure to an error with the position in the input.
    func error(_ failure: ReadingFailure) -> PropertyListError {
        var line = 1
        var column = 1
        var units = 0
        var previous: UInt8 = 0
        for byte in utf8.prefix(failure.offset) {
            // Count a scalar at its first byte. A carriage return before a line feed is part of the line ending.
            if byte & 0xC0 != 0x80 {
                units += byte >= 0xF0 ? 2 : 1
                if byte == UInt8(ascii: "\n"), previous == UInt8(ascii: "\r") {
                    previous = byte
                    continue
                }
                if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                    line += 1
                    column = 1
                } else {
                    column += 1
                }
            }
            previous = byte
        }
        let offset =
            switch encoding {
            case .utf8, .ascii: failure.offset
            case .latin1: units
            case .utf16LittleEndian, .utf16BigEndian: units * 2
            }
        return PropertyListError(
            code: failure.code, format: format,
            position: PropertyListError.Position(byteOffset: mark + offset, line: line, column: column),
            message: failure.message)
    }

    private static func copy(of output: borrowing MoveStack<UInt8>) -> UnsafeMutableBufferPointer<UInt8> {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: output.count)
        _ = copy.initialize(fromContentsOf: output.elements)
        return copy
    }

    private static func transcodeUTF16(
        _ body: UnsafeBufferPointer<UInt8>, bigEndian: Bool, to output: inout MoveStack<UInt8>
    ) -> ReadingFailure? {
        func unit(_ index: Int) -> UInt16 {
            let first = UInt16(body[index])
            let second = UInt16(body[index + 1])
            return bigEndian ? first << 8 | second : second << 8 | first
        }
        var index = 0
        while index + 1 < body.count {
            let first = unit(index)
            index += 2
            if let scalar = Unicode.Scalar(first) {
                output.append(scalar)
            } else if UTF16.isLeadSurrogate(first), index + 1 < body.count, UTF16.isTrailSurrogate(unit(index)) {
                output.append(Unicode.Scalar(leadSurrogate: first, trailSurrogate: unit(index)))
                index += 2
            } else {
                return ReadingFailure(
                    code: .invalidText, offset: output.count,
                    message: "UTF-16 surrogate \(String(first, radix: 16, uppercase: true)) has no partner")
            }
        }
        guard index == body.count else {
            return ReadingFailure(
                code: .invalidText, offset: output.count, message: "UTF-16 text ends in the middle of a character")
        }
        return nil
    }
}

extension Unicode.Scalar {
    /// Creates the scalar that a pair of UTF-16 surrogates encodes.
    init(leadSurrogate: UInt16, trailSurrogate: UInt16) {
        let value = 0x10000 + (UInt32(leadSurrogate & 0x3FF) << 10 | UInt32(trailSurrogate & 0x3FF))
        self = Unicode.Scalar(value) ?? "\u{FFFD}"
    }
}

/// Returns the byte as `0x` and two digits.
func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "0x" + (digits.count < 2 ? "0" + digits : digits)
}
