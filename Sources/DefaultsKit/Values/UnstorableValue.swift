/// What in a value of type `Any` no property list can hold, and where.
struct UnstorableValue: Error {
    /// From the value down to the culprit: `.key` or `[index]`.
    private var path = ""
    /// What comes after the path in the sentence.
    private let reason: String

    private init(_ reason: String) { self.reason = reason }

    /// The classes that DefaultsFoundation makes storable.
    private static let foundationClasses: Set = [
        "NSArray", "NSData", "NSDate", "NSDictionary", "NSMutableArray", "NSMutableDictionary", "NSMutableString",
        "NSNull",
        "NSNumber", "NSString", "NSURL", "NSUUID",
    ]

    static func unknownType(_ type: Any.Type) -> Self {
        let remedy = foundationClasses.contains("\(type)") ? "; link and import DefaultsFoundation for it" : ""
        return Self("is a \(type), which no property list can hold\(remedy)")
    }

    static func unconvertible(_ type: Any.Type, _ error: any Error) -> Self {
        var reason = "\(error)"
        if case EncodingError.invalidValue(_, let context) = error { reason = context.debugDescription }
        return Self("is a \(type), which can't be made a property list: \(reason)")
    }

    static func otherKeys(_ type: Any.Type) -> Self {
        Self("is a \(type); in a property list the keys of a dictionary are strings")
    }

    static var nilElement: Self { Self("is nil, which no array in a property list can hold; leave it out") }

    static var tooDeep: Self { Self("is nested deeper than a property list may be") }

    /// The same, seen from the container around it.
    func inside(_ step: String) -> Self {
        var outer = self
        outer.path = step + path
        return outer
    }

    /// The whole sentence, such as: "a.b[2]" is a Foo, which no property list can hold.
    func sentence(forKey key: String) -> String {
        "\"\(key)\(path)\" \(reason)\(reason.hasSuffix(".") ? "" : ".")"
    }
}
