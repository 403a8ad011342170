import Foundation

/// Objects that can't be archived.
enum Unarchivable {
    final class Plain: NSObject {}

    final class WithoutSecurity: NSObject, NSSecureCoding {
        static let supportsSecureCoding = false
        override init() {}
        func encode(with coder: NSCoder) {}
        init?(coder: NSCoder) { nil }
    }

    final class CodingOnly: NSObject, NSCoding {
        override init() {}
        func encode(with coder: NSCoder) {}
        init?(coder: NSCoder) { nil }
    }

    final class Text: NSMutableAttributedString {}

    struct Value {}

    /// Each object, with a part of the reported reason.
    static var all: [(Any, String)] {
        [
            (Plain(), "DefaultsFoundationTests.Unarchivable.Plain doesn't support secure coding"),
            (WithoutSecurity(), "DefaultsFoundationTests.Unarchivable.WithoutSecurity doesn't support secure coding"),
            (CodingOnly(), "DefaultsFoundationTests.Unarchivable.CodingOnly doesn't support secure coding"),
            (Text(string: "a"), "Unarchivable.Text is a subclass of NSMutableAttributedString"),
            (Value(), "DefaultsFoundationTests.Unarchivable.Value is not an object"),
            (NSDecimalNumber(value: 1.5), "the Foundation class NSDecimalNumber isn't supported"),
            (NSError(domain: "a", code: 1), "the Foundation class NSError isn't supported"),
            (NSCountedSet(array: [1]), "the Foundation class NSCountedSet isn't supported"),
            (NSDate(timeIntervalSinceReferenceDate: .nan), "a date is not a number"),
            (NSSet(array: [NSArray(array: [1])]), "a set or the keys of a dictionary contain an array"),
            (Box { $1.encode(1 as Any?) }, "DefaultsFoundationTests.Box encodes without keys"),
            (
                Box { _, coder in
                    var number: Int32 = 1
                    coder.encodeValue(ofObjCType: "i", at: &number)
                }, "DefaultsFoundationTests.Box encodes without keys"
            ),
            (Box { $1.encode($0, forKey: "self") }, "an object of DefaultsFoundationTests.Box contains itself"),
            (Box { $1.encodeConditionalObject($0, forKey: "self") }, "DefaultsFoundationTests.Box contains itself"),
            (
                Box { $1.encode([["k": $0]], forKey: "self") },
                "an object of DefaultsFoundationTests.Box contains itself"
            ),
            (Box { $1.failWithError(CocoaError(.coderInvalidValue)) }, "Code="),
            ((0..<200).reduce(Box()) { box, _ in Box(box) }, "it is too deep"),
        ]
    }
}
