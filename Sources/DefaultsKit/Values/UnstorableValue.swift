/// The part of a value of type `Any` that a property list can't hold, and its path.
struct UnstorableValue: Error {
    /// The path from the value down to the part: `.key` or `[index]`, repeated.
    private var path = ""
    /// The rest of the sentence, after the path.
    private let reason: String

    private init(_ reason: String) { self.reason = reason }

    /// The classes whose objects can be stored with DefaultsFoundation.
    private static let foundationClasses: Set = [
        "NSArray", "NSData", "NSDate", "NSDictionary", "NSMutableArray", "NSMutableDictionary", "NSMutableString",
        "NSNull",
        "NSNumber", "NSString", "NSURL", "NSUUID",
    ]

    static func unknownType(_ type: Any.Type) -> Self {
        let remedy = foundationClasses.contains("\(type)") ? "; link and import DefaultsFoundation for it" : ""
        return Self("is a \(type), which no property list can hold\(remedy)")
    }

    static func unconvertible(_ type: Any.Type, because error: any Error) -> Self {
        var reason = "\(error)"
        if case EncodingError.invalidValue(_, let context) = error { reason = context.debugDescription }
        return Self("is a \(type), which can't be made a property list: \(reason)")
    }

    static func otherKeys(_ type: Any.Type) -> Self {
        Self("is a \(type); in a property list the keys of a dictionary are strings")
    }

    static var nilElement: Self { Self("is nil, which no array in a property list can hold; leave it out") }

    static var tooDeep: Self { Self("is nested deeper than a property list may be") }

    static func outside(_ range: String) -> Self { Self("must be \(range)") }

    static var objectNumber: Self { Self("is or contains an archive's object number, which only files hold") }

    /// Returns the same error as seen from the container around the value.
    func inside(_ step: String) -> Self {
        var outer = self
        outer.path = step + path
        return outer
    }

    /// Returns the whole sentence, such as: "a.b[2]" is a Foo, which no property list can hold.
    func sentence(forKey key: String) -> String {
        "\"\(key)\(path)\" \(reason)\(reason.hasSuffix(".") ? "" : ".")"
    }
}
