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

    /// Each, and what is told of it.
    static var all: [(Any, String)] {
        [
            (Plain(), "DefaultsFoundationTests.Unarchivable.Plain has no secure coding"),
            (WithoutSecurity(), "DefaultsFoundationTests.Unarchivable.WithoutSecurity has no secure coding"),
            (CodingOnly(), "DefaultsFoundationTests.Unarchivable.CodingOnly has no secure coding"),
            (Text(string: "a"), "Unarchivable.Text is a NSMutableAttributedString"),
            (Value(), "DefaultsFoundationTests.Unarchivable.Value is no object"),
            (NSDecimalNumber(value: 1.5), "NSDecimalNumber is a class of Foundation's"),
            (NSError(domain: "a", code: 1), "NSError is a class of Foundation's"),
            (NSCountedSet(array: [1]), "NSCountedSet is a class of Foundation's"),
            (NSDate(timeIntervalSinceReferenceDate: .nan), "a date is not a number"),
            (NSSet(array: [NSArray(array: [1])]), "a set or the keys of a dictionary hold an array"),
            (Box { $1.encode(1 as Any?) }, "DefaultsFoundationTests.Box encodes without keys"),
            (
                Box { _, coder in
                    var number: Int32 = 1
                    coder.encodeValue(ofObjCType: "i", at: &number)
                }, "DefaultsFoundationTests.Box encodes without keys"
            ),
            (Box { $1.encode($0, forKey: "self") }, "an object of DefaultsFoundationTests.Box holds itself"),
            (Box { $1.encodeConditionalObject($0, forKey: "self") }, "DefaultsFoundationTests.Box holds itself"),
            (Box { $1.encode([["k": $0]], forKey: "self") }, "an object of DefaultsFoundationTests.Box holds itself"),
            (Box { $1.failWithError(CocoaError(.coderInvalidValue)) }, "Code="),
            ((0..<200).reduce(Box()) { box, _ in Box(box) }, "it is too deep"),
        ]
    }
}
