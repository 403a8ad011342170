import PropertyList

/// Property lists that differ from another in one or two places.
enum Tampering {
    private static let replacements: [PropertyListValue] = [
        .uid(0), .uid(1), .uid(2), .uid(9_999), 5, -1, "text", .data([0, 1]), [], [.uid(1)], [5], [:], ["a": 1], true,
        1.5,
    ]

    /// Numbers that don't fit, and names of existing classes that weren't archived.
    private static let cunning: [PropertyListValue] =
        [
            .uid(.max), .integer(.min), .integer(.max), .unsigned(.max), .real(.nan), .real(.infinity), .real(1e300),
            .real32(.infinity), "", "\u{1}\u{2}\u{3}\u{4}", .data([]), [.uid(0)],
            .date(PropertyListDate(secondsSinceReferenceDate: .nan)),
        ]
        + [
            "NSArray", "NSAttributedString", "NSCalendar", "NSData", "NSDate", "NSDecimalNumber", "NSDictionary",
            "NSError",
            "NSIndexPath", "NSIndexSet", "NSKeyedUnarchiver", "NSMutableArray", "NSMutableDictionary",
            "NSMutableString",
            "NSNull", "NSNumber", "NSObject", "NSOrderedSet", "NSSet", "NSString", "NSTimeZone", "NSLocale", "NSURL",
            "NSUUID", "NSValue", "UnitLength", "Swift.Array", "Swift._EmptyArrayStorage", ".", "$s", "A.B.C",
            "DefaultsFoundationTests.Color", "DefaultsFoundationTests.Palette",
        ].map { .string($0) }

    /// Returns all variants with one value replaced or one entry removed.
    static func each(of value: PropertyListValue) -> [PropertyListValue] {
        var all = replacements
        switch value {
        case .array(let values):
            for index in values.indices {
                for other in each(of: values[index]) {
                    var copy = values
                    copy[index] = other
                    all.append(.array(copy))
                }
            }
        case .dictionary(let values):
            for (key, entry) in values {
                var copy = values
                copy[key] = nil
                all.append(.dictionary(copy))
                for other in each(of: entry) {
                    copy[key] = other
                    all.append(.dictionary(copy))
                }
            }
        default: break
        }
        return all
    }

    /// Returns a variant with a value replaced or an entry removed at a random place.
    static func somewhere(
        in value: PropertyListValue, using random: inout some RandomNumberGenerator
    ) -> PropertyListValue {
        if Int.random(in: 0..<16, using: &random) > 0 {
            switch value {
            case .array(var values) where !values.isEmpty:
                let index = Int.random(in: values.indices, using: &random)
                values[index] = somewhere(in: values[index], using: &random)
                return .array(values)
            case .dictionary(var fields):
                // Sorted, so that a seed has the same result every time.
                guard let key = fields.keys.sorted().randomElement(using: &random) else { break }
                fields[key] =
                    Int.random(in: 0..<8, using: &random) == 0
                    ? nil : fields[key].map { somewhere(in: $0, using: &random) }
                return .dictionary(fields)
            default: break
            }
        }
        // Mostly references, which make up the structure of an archive.
        if Bool.random(using: &random) { return .uid(.random(in: 0..<64, using: &random)) }
        return (replacements + cunning).randomElement(using: &random) ?? 0
    }

    /// Returns a variant with some different bytes.
    static func somewhere(in bytes: [UInt8], using random: inout some RandomNumberGenerator) -> [UInt8] {
        var copy = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let index = Int.random(in: copy.indices, using: &random)
            copy[index] =
                Bool.random(using: &random)
                ? copy[index] ^ (1 << UInt8.random(in: 0..<8, using: &random)) : .random(in: 0...255, using: &random)
        }
        return copy
    }
}
