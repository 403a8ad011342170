/// The reason why a property list couldn't be read or written, and where.
///
/// `description` is a complete sentence for users:
/// `XML property list, line 3, column 7 (byte 120): expected </string>, found </key>.`
public struct PropertyListError: Error, Sendable, Hashable {
    /// The kind of failure.
    public let code: Code

    /// The format that was read or written.
    public let format: PropertyListFormat

    /// The position in the input, when reading.
    public let position: Position?

    /// The path of the value, when writing, as `Key.Key[index]`; empty for the outermost value.
    public let keyPath: String?

    /// The problem, such as the expected and the actual text, without a position or a final period.
    public let message: String

    init(code: Code, format: PropertyListFormat, position: Position, message: String) {
        self.code = code
        self.format = format
        self.position = position
        self.keyPath = nil
        self.message = message
    }

    init(code: Code, format: PropertyListFormat, keyPath: String, message: String) {
        self.code = code
        self.format = format
        self.position = nil
        self.keyPath = keyPath
        self.message = message
    }
}

extension PropertyListError {
    /// A kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Storage: String, Sendable {
            case syntax, tooDeep, tooLarge, tooManyObjects, unsupportedEncoding, invalidText, unsupported, cycle
            case offsetOutOfRange, numberOutOfRange, unrepresentable, equivalentKeys
        }

        private let storage: Storage

        private init(_ storage: Storage) {
            self.storage = storage
        }

        /// The code's name.
        public var description: String { storage.rawValue }

        /// The input breaks the rules of its format.
        public static let syntax = Code(.syntax)
        /// More containers are nested than the limits allow.
        public static let tooDeep = Code(.tooDeep)
        /// The input is longer than the limits allow.
        public static let tooLarge = Code(.tooLarge)
        /// The tree contains more values than the limits allow.
        public static let tooManyObjects = Code(.tooManyObjects)
        /// The text is in an unsupported encoding.
        public static let unsupportedEncoding = Code(.unsupportedEncoding)
        /// The bytes are not valid text in the document's encoding.
        public static let invalidText = Code(.invalidText)
        /// The input is well-formed, but contains something unsupported: an entity declaration, a set, a null.
        public static let unsupported = Code(.unsupported)
        /// A container of a binary property list contains itself.
        public static let cycle = Code(.cycle)
        /// A binary property list refers to bytes or objects that don't exist.
        public static let offsetOutOfRange = Code(.offsetOutOfRange)
        /// A whole number fits neither a signed nor an unsigned 64-bit integer.
        public static let numberOutOfRange = Code(.numberOutOfRange)
        /// Two keys of a dictionary are the same text in different Unicode scalars, so one of them would be lost.
        public static let equivalentKeys = Code(.equivalentKeys)
        /// The format can't represent the value.
        public static let unrepresentable = Code(.unrepresentable)
    }

    /// A position in the input.
    public struct Position: Sendable, Hashable {
        /// The number of bytes from the start of the input.
        public let byteOffset: Int
        /// The line, starting at 1; `nil` in binary input.
        public let line: Int?
        /// The Unicode scalar within the line, starting at 1; `nil` in binary input.
        public let column: Int?

        init(byteOffset: Int, line: Int? = nil, column: Int? = nil) {
            self.byteOffset = byteOffset
            self.line = line
            self.column = column
        }
    }
}

extension PropertyListError: CustomStringConvertible {
    /// A sentence with the format, the position and the problem.
    public var description: String {
        var start = "\(format)"
        start = start.prefix(1).uppercased() + start.dropFirst()
        if let position {
            if let line = position.line, let column = position.column {
                start += ", line \(line), column \(column) (byte \(position.byteOffset))"
            } else {
                start += ", byte \(position.byteOffset)"
            }
        }
        if let keyPath, !keyPath.isEmpty {
            start += ", value of \(keyPath.shown(limit: 200))"
        }
        return "\(start): \(message)."
    }
}

/// The error that readers throw internally; `PropertyListValue.read` turns it into a `PropertyListError`.
///
/// It has only an offset. Lines are counted only when there is an error to report.
struct ReadingFailure: Error {
    /// The kind of failure.
    var code: PropertyListError.Code
    /// The offset in the reader's input, in bytes; for text, in its UTF-8 form.
    var offset: Int
    /// The problem, such as the expected and the actual text.
    var message: String
}
