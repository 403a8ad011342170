public import FoundationEssentials
public import PropertyList

extension Data: DefaultsValue {
    /// The bytes, if it is data.
    public init?(propertyListValue: PropertyListValue) {
        guard case .data(let bytes) = propertyListValue else { return nil }
        self.init(bytes)
    }

    /// Data.
    public var propertyListValue: PropertyListValue? { .data([UInt8](self)) }
}

extension Date: DefaultsValue {
    /// The instant, if it is a date.
    public init?(propertyListValue: PropertyListValue) {
        guard case .date(let date) = propertyListValue else { return nil }
        self.init(date)
    }

    /// A date; binary files keep fractions of a second, XML files whole seconds.
    public var propertyListValue: PropertyListValue? { .date(PropertyListDate(self)) }
}

extension URL: DefaultsValue {
    /// The URL: of a string, that of the path (with "~" expanded), or of "scheme://…"; of data, the archived `NSURL`.
    public init?(propertyListValue: PropertyListValue) {
        guard let url = propertyListValue.url() else { return nil }
        self = url
    }

    /// A path with "~" for the home directory, or an archived `NSURL` for what no path can say.
    public var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(url: self) }
    }
}

extension UUID: DefaultsValue {
    /// The identifier that a string spells, in upper or lower case.
    public init?(propertyListValue: PropertyListValue) {
        guard case .string(let text) = propertyListValue else { return nil }
        self.init(uuidString: text.withoutSurroundingSpace)
    }

    /// A string, in upper case.
    public var propertyListValue: PropertyListValue? { .string(uuidString) }
}
