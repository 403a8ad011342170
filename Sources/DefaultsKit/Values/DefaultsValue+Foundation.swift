public import PropertyList

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Data: DefaultsValue {
    /// Creates the bytes from stored data.
    public init?(propertyListValue: PropertyListValue) {
        guard case .data(let bytes) = propertyListValue else { return nil }
        self.init(bytes)
    }

    /// The bytes, as stored data.
    public var propertyListValue: PropertyListValue? { .data([UInt8](self)) }
}

extension Date: DefaultsValue {
    /// Creates the date from a stored date.
    public init?(propertyListValue: PropertyListValue) {
        guard case .date(let date) = propertyListValue else { return nil }
        self.init(date)
    }

    /// A date; binary files preserve fractions of a second, XML files only whole seconds.
    public var propertyListValue: PropertyListValue? { .date(PropertyListDate(self)) }
}

extension URL: DefaultsValue {
    /// Creates a URL from a string or from data.
    ///
    /// A string is a path, in which "~" is expanded, or a URL with "scheme://". Data is an archived `NSURL`.
    public init?(propertyListValue: PropertyListValue) {
        guard let url = propertyListValue.url() else { return nil }
        self = url
    }

    /// A path with "~" for the home directory, or an archived `NSURL` if a path can't express the URL.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(url: self) }
    }
}

extension UUID: DefaultsValue {
    /// Creates an identifier from a string, in upper or lower case.
    public init?(propertyListValue: PropertyListValue) {
        guard case .string(let text) = propertyListValue else { return nil }
        self.init(uuidString: text.withoutSurroundingSpace)
    }

    /// A string, in upper case.
    public var propertyListValue: PropertyListValue? { .string(uuidString) }
}

extension String: DefaultsValue {
    /// Creates the text from a stored string, a number (its shortest text) or a Boolean ("1" or "0").
    public init?(propertyListValue: PropertyListValue) {
        guard let text = propertyListValue.coercedString else { return nil }
        self = text
    }

    /// A string.
    public var propertyListValue: PropertyListValue? { .string(self) }
}

extension Substring: DefaultsValue {
    /// Creates the text from a stored string, a number (its shortest text) or a Boolean ("1" or "0").
    public init?(propertyListValue: PropertyListValue) {
        guard let text = propertyListValue.coercedString else { return nil }
        self.init(text)
    }

    /// A string.
    public var propertyListValue: PropertyListValue? { .string(String(self)) }
}

extension String {
    /// The text without leading and trailing whitespace, including line breaks.
    var withoutSurroundingSpace: String {
        var rest = unicodeScalars[...]
        while let first = rest.first, first.properties.isWhitespace { rest.removeFirst() }
        while let last = rest.last, last.properties.isWhitespace { rest.removeLast() }
        return String(rest)
    }
}
