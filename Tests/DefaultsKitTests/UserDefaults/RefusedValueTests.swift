import DefaultsClient
import DefaultsCore
import FoundationEssentials
import PropertyList
import Testing

@testable import DefaultsKit

/// Edits of several keys, one of which can't have its value.
@Suite("Values that can't be stored")
struct RefusedValueTests {
    private let defaults = UserDefaults(inMemory: ["bad": "kept", "old": 1])
    private let never = Date(timeIntervalSinceReferenceDate: .nan)
    private static let marks = "e" + String(repeating: "\u{301}", count: 129)

    private var values: [String: PropertyListValue] { defaults.client.currentValues(of: defaults.domain) }

    @Test("A value or a key that can't be stored leaves the former value in effect, in memory as well")
    func single() {
        defaults.set(never, forKey: "bad")
        defaults.set(1, forKey: Self.marks)
        defaults[DefaultsKey<Date?>("bad")] = never
        #expect(throws: DefaultsProblem.self) { try defaults.update(DefaultsKey<Date?>("bad")) { $0 = never } }
        #expect(values == ["bad": "kept", "old": 1])
    }

    @Test("A value that can't be stored doesn't discard the others of a transaction", arguments: [true, false])
    func transaction(hasRead: Bool) {
        defaults.withTransaction { values in
            if hasRead { _ = values.propertyListValue(forKey: "old") }
            values.set(2, forKey: "old")
            values.set(.date(PropertyListDate(never)), forKey: "bad")
            values[DefaultsKey<Date?>("bad")] = never
            values.set(1, forKey: Self.marks)
        }
        #expect(values == ["bad": "kept", "old": 2])
    }

    @Test("A value that can't be stored doesn't discard the others of a whole domain")
    func wholeDomain() throws {
        defaults.setPersistentDomain(["bad": never, "new": 1], forName: UserDefaults.applicationIdentifier)
        #expect(values == ["bad": "kept", "new": 1])
        try defaults.domain(UserDefaults.applicationIdentifier).set(["bad": .date(PropertyListDate(never)), "new": 2])
        #expect(values == ["bad": "kept", "new": 2])
    }
}
