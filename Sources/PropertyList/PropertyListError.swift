/// Why a property list could not be read or written, and where.
///
/// `description` is a whole sentence, for people:
/// `XML property list, line 3, column 7 (byte 120): expected </string>, found </key>.`
public struct PropertyListError: Error, Sendable, Hashable {
    /// What kind of failure it was.
    public let code: Code

    /// The format that was read or written.
    public let format: PropertyListFormat

    /// Where in the input, when reading.
    public let position: Position?

    /// Which value, when writing, as `Key.Key[index]`; empty for the outermost one.
    public let keyPath: String?

    /// What was expected and what was found, without place and full stop.
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
        /// The tree holds more values than the limits allow.
        public static let tooManyObjects = Code(.tooManyObjects)
        /// The text is in an encoding that isn't read.
        public static let unsupportedEncoding = Code(.unsupportedEncoding)
        /// The bytes are not text in the encoding they are said to be in.
        public static let invalidText = Code(.invalidText)
        /// The input is well-formed, but holds something that is not read: an entity declaration, a set, a null.
        public static let unsupported = Code(.unsupported)
        /// A container of a binary property list contains itself.
        public static let cycle = Code(.cycle)
        /// A binary property list refers to bytes or objects that it doesn't have.
        public static let offsetOutOfRange = Code(.offsetOutOfRange)
        /// A whole number fits neither a signed nor an unsigned 64-bit integer.
        public static let numberOutOfRange = Code(.numberOutOfRange)
        /// Two keys of a dictionary are the same text in different Unicode scalars: one of them would be lost.
        public static let equivalentKeys = Code(.equivalentKeys)
        /// The format has no way to write the value.
        public static let unrepresentable = Code(.unrepresentable)
    }

    /// A place in the input.
    public struct Position: Sendable, Hashable {
        /// Bytes before the place, from the input's start.
        public let byteOffset: Int
        /// The line, from 1; nil in binary input.
        public let line: Int?
        /// The Unicode scalar in the line, from 1; nil in binary input.
        public let column: Int?

        init(byteOffset: Int, line: Int? = nil, column: Int? = nil) {
            self.byteOffset = byteOffset
            self.line = line
            self.column = column
        }
    }
}

extension PropertyListError: CustomStringConvertible {
    /// A sentence that says where and why.
    public var description: String {
        var place = "\(format)"
        place = place.prefix(1).uppercased() + place.dropFirst()
        if let position {
            if let line = position.line, let column = position.column {
                place += ", line \(line), column \(column) (byte \(position.byteOffset))"
            } else {
                place += ", byte \(position.byteOffset)"
            }
        }
        if let keyPath, !keyPath.isEmpty {
            place += ", value of \(keyPath.shown(limit: 200))"
        }
        return "\(place): \(message)."
    }
}
