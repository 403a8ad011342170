extension PropertyListValue: Hashable {
    /// Returns whether two values are the same in type and content.
    ///
    /// Reals compare by bit pattern: a NaN equals itself, and `0.0` differs from `-0.0`. A number never equals a
    /// Boolean, a whole number never equals a real, and a 32-bit real never equals a 64-bit one. `unsigned` equals
    /// `integer` if both hold the same number. Strings compare by Unicode scalar, as `NSString` does, so that storing a
    /// decomposed "é" over a composed one counts as a change. So do the keys of dictionaries.
    public static func == (first: PropertyListValue, second: PropertyListValue) -> Bool {
        // Only the recursive cases are here, so that the stack frame stays small and the deepest tree fits a thread's
        // small stack.
        switch (first, second) {
        case (.array(let first), .array(let second)): first == second
        case (.dictionary(let first), .dictionary(let second)): first == second && haveSameSpelling(first, second)
        default: areEqualScalars(first, second)
        }
    }

    /// Returns whether the keys of equal dictionaries also have the same scalars.
    private static func haveSameSpelling(
        _ first: [String: PropertyListValue], _ second: [String: PropertyListValue]
    ) -> Bool {
        first.keys.allSatisfy { key in
            // In the usual case, nothing is looked up.
            if key.utf8Span.isKnownASCII { return true }
            guard let index = second.index(forKey: key) else { return false }
            return key.hasSameScalars(as: second.keys[index])
        }
    }

    private static func areEqualScalars(_ first: PropertyListValue, _ second: PropertyListValue) -> Bool {
        switch (first, second) {
        case (.string(let first), .string(let second)): first.hasSameScalars(as: second)
        case (.integer(let first), .integer(let second)): first == second
        case (.unsigned(let first), .unsigned(let second)): first == second
        case (.integer(let first), .unsigned(let second)): Int64(exactly: second) == first
        case (.unsigned(let first), .integer(let second)): Int64(exactly: first) == second
        case (.real(let first), .real(let second)): first.bitPattern == second.bitPattern
        case (.real32(let first), .real32(let second)): first.bitPattern == second.bitPattern
        case (.boolean(let first), .boolean(let second)): first == second
        case (.date(let first), .date(let second)): first == second
        case (.data(let first), .data(let second)): first == second
        case (.uid(let first), .uid(let second)): first == second
        default: false
        }
    }

    /// Hashes the components that `==` compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .array(let values): hasher.combine(values)
        case .dictionary(let values): hasher.combine(values)
        default: hashScalar(into: &hasher)
        }
    }

    private func hashScalar(into hasher: inout Hasher) {
        switch self {
        case .string(let string):
            hasher.combine(0 as UInt8)
            var copy = string
            copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(0xFF as UInt8)
        case .integer(let number):
            hasher.combine(1 as UInt8)
            hasher.combine(UInt64(bitPattern: number))
        case .unsigned(let number):
            hasher.combine(1 as UInt8)
            hasher.combine(number)
        case .real(let number):
            hasher.combine(2 as UInt8)
            hasher.combine(number.bitPattern)
        case .real32(let number):
            hasher.combine(3 as UInt8)
            hasher.combine(number.bitPattern)
        case .boolean(let flag):
            hasher.combine(4 as UInt8)
            hasher.combine(flag)
        case .date(let date):
            hasher.combine(5 as UInt8)
            hasher.combine(date)
        case .data(let bytes):
            hasher.combine(6 as UInt8)
            hasher.combine(bytes)
        case .array, .dictionary: break
        case .uid(let number):
            hasher.combine(9 as UInt8)
            hasher.combine(number)
        }
    }
}

extension String {
    /// Returns whether two strings have the same Unicode scalars; `==` also accepts canonically equivalent strings.
    fileprivate func hasSameScalars(as other: String) -> Bool {
        // `==` first normalizes both, which takes quadratic time for many combining marks in a row.
        let (first, second) = (utf8Span.span, other.utf8Span.span)
        guard first.count == second.count else { return false }
        return first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { first.elementsEqual($0) }
        }
    }
}
