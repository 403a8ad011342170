public import PropertyList

extension String: DefaultsValue {
    /// The string; of a number its shortest text, of a Boolean "1" or "0".
    public init?(propertyListValue: PropertyListValue) {
        guard let text = propertyListValue.coercedString else { return nil }
        self = text
    }

    /// A string.
    public var propertyListValue: PropertyListValue? { .string(self) }
}

extension Substring: DefaultsValue {
    /// The string; of a number its shortest text, of a Boolean "1" or "0".
    public init?(propertyListValue: PropertyListValue) {
        guard let text = propertyListValue.coercedString else { return nil }
        self.init(text)
    }

    /// A string.
    public var propertyListValue: PropertyListValue? { .string(String(self)) }
}

extension String {
    /// The text without white space and line ends before and after it.
    var withoutSurroundingSpace: String {
        var rest = unicodeScalars[...]
        while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
