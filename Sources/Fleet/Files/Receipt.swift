package import DefaultsCore
import PropertyList

/// The sets of a machine that another one has received.
package struct Receipt: Hashable, Sendable {
    package var numbers = NumberRanges()
    /// The hash of the file with the last of them; `nil` if they came in another machine's snapshot.
    package var link: ContentHash?

    package init(_ numbers: NumberRanges = NumberRanges(), link: ContentHash? = nil) {
        (self.numbers, self.link) = (numbers, link)
    }

    /// Adds those of a file.
    mutating func insert(_ name: FleetFileName, link: ContentHash) {
        if name.last >= numbers.last { self.link = link }
        numbers.insert(name.first...name.last)
    }

    /// Adds those that another machine's snapshot stands for.
    mutating func cover(_ others: NumberRanges) {
        if others.last > numbers.last { link = nil }
        numbers.formUnion(others)
    }
}

/// The sets that a machine has received of every other one.
package typealias FleetVector = [MachineID: Receipt]

/// Numbers, as ascending ranges that don't touch.
package struct NumberRanges: Hashable, Sendable {
    package private(set) var ranges: [ClosedRange<UInt64>] = []

    package init() {}

    package init(_ range: ClosedRange<UInt64>) { ranges = [range] }

    /// The last number; 0 if there is none.
    package var last: UInt64 { ranges.last?.upperBound ?? 0 }

    /// Returns the first number from 1 on that is missing; `nil` if there is none up to a limit.
    func firstMissing(upTo limit: UInt64) -> UInt64? {
        guard let first = ranges.first, first.lowerBound <= 1 else { return limit > 0 ? 1 : nil }
        return first.upperBound < limit ? first.upperBound + 1 : nil
    }

    /// Whether it has all numbers from 1 to its last.
    var isWhole: Bool { ranges.count == 1 && firstMissing(upTo: last) == nil }

    /// Returns the first of other numbers that is missing; `nil` if none is.
    func first(missingFrom others: NumberRanges) -> UInt64? {
        for range in others.ranges where !contains(range) {
            guard let own = ranges.first(where: { $0.contains(range.lowerBound) }) else { return range.lowerBound }
            return own.upperBound + 1
        }
        return nil
    }

    package func contains(_ numbers: ClosedRange<UInt64>) -> Bool {
        ranges.contains { $0.lowerBound <= numbers.lowerBound && numbers.upperBound <= $0.upperBound }
    }

    package func contains(_ others: NumberRanges) -> Bool { others.ranges.allSatisfy(contains) }

    mutating func formUnion(_ others: NumberRanges) { for range in others.ranges { insert(range) } }

    func union(_ others: NumberRanges?) -> NumberRanges {
        var union = self
        if let others { union.formUnion(others) }
        return union
    }

    mutating func insert(_ numbers: ClosedRange<UInt64>) {
        var merged = numbers
        var others: [ClosedRange<UInt64>] = []
        for range in ranges {
            // Ranges that touch become one; an end at the maximum touches nothing above it.
            let isBelow = range.upperBound < .max && range.upperBound + 1 < merged.lowerBound
            let isAbove = merged.upperBound < .max && merged.upperBound + 1 < range.lowerBound
            if isBelow || isAbove {
                others.append(range)
            } else {
                merged = min(range.lowerBound, merged.lowerBound)...max(range.upperBound, merged.upperBound)
            }
        }
        ranges = (others + [merged]).sorted { $0.lowerBound < $1.lowerBound }
    }
}

// MARK: Property lists

extension NumberRanges {
    var propertyList: PropertyListValue {
        .array(ranges.flatMap { [$0.lowerBound, $0.upperBound].map { .integer(Int64(clamping: $0)) } })
    }

    init?(_ value: PropertyListValue?) {
        guard case .array(let ends)? = value, ends.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: ends.count, by: 2) {
            guard let first = UInt64(number: ends[index]), let last = UInt64(number: ends[index + 1]), first <= last
            else { return nil }
            insert(first...last)
        }
    }

}

extension FleetVector {
    var propertyList: PropertyListValue {
        var entries: DomainValues = [:]
        for (machine, receipt) in self {
            var parts = [receipt.numbers.propertyList]
            if let link = receipt.link { parts.append(link.propertyList) }
            entries[machine.text] = .array(parts)
        }
        return .dictionary(entries)
    }

    init?(_ value: PropertyListValue?) {
        guard case .dictionary(let entries)? = value else { return nil }
        self.init()
        for (text, value) in entries {
            guard let machine = MachineID(text), case .array(let parts) = value, (1...2).contains(parts.count),
                let numbers = NumberRanges(parts[0])
            else { return nil }
            self[machine] = Receipt(numbers, link: parts.count > 1 ? ContentHash(parts[1]) : nil)
        }
    }
}

extension ContentHash {
    var propertyList: PropertyListValue { .integer(Int64(bitPattern: value)) }

    init?(_ value: PropertyListValue?) {
        guard case .integer(let number)? = value else { return nil }
        self.init(value: UInt64(bitPattern: number))
    }
}

extension UInt64 {
    init?(number value: PropertyListValue?) {
        guard case .integer(let number)? = value, number >= 0 else { return nil }
        self.init(number)
    }
}
