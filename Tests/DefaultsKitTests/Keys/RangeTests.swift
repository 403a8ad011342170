import DefaultsKit
import PropertyList
import Testing

@Suite("Ranges as values")
struct RangeTests {
    private let defaults = UserDefaults(inMemory: [:])
    private let hours = DefaultsKey("hours", default: 9..<17)
    private let volume = DefaultsKey("volume", default: 0.0...1.0)

    @Test("A range is stored as an array of its bounds and reads back")
    func bothWays() throws {
        defaults[hours] = 8..<8
        defaults[volume] = 0.25...0.5
        #expect(defaults.values() == ["hours": [8, 8], "volume": [0.25, 0.5]])
        #expect(defaults[hours] == 8..<8)
        #expect(defaults[volume] == 0.25...0.5)
        #expect(try PropertyListValue(encoding: 8..<9) == (8..<9).propertyListValue)
    }

    @Test("A range's bounds are read from text as stored by the `defaults` command")
    func text() {
        defaults.set(["8", "12"], forKey: "hours")
        #expect(defaults[hours] == 8..<12)
    }

    @Test("Ranges may be nested in optionals, arrays and dictionaries, and their bounds may be strings")
    func nested() {
        let spans = DefaultsKey<[ClosedRange<String>]>("spans", default: [])
        defaults[spans] = ["a"..."f", "g"..."z"]
        #expect(defaults.propertyListValue(forKey: "spans") == [["a", "f"], ["g", "z"]])
        #expect(defaults[spans] == ["a"..."f", "g"..."z"])
        let optional = DefaultsKey<Range<Int>?>("optional")
        defaults[optional] = 1..<2
        #expect(defaults[optional] == 1..<2)
        defaults[optional] = nil
        #expect(defaults.object(forKey: "optional") == nil)
    }

    @Test(
        "A value that isn't an array of two ordered bounds reads as the default without a crash",
        arguments: [[], [1], [1, 2, 3], [17, 9], ["a", 9], "9..<17", [.real(.nan), 1], ["lower": 1]]
            as [PropertyListValue])
    func broken(value: PropertyListValue) {
        let defaults = UserDefaults(inMemory: ["broken hours": value, "broken volume": value])
        #expect(defaults[DefaultsKey("broken hours", default: 9..<17)] == 9..<17)
        #expect(defaults[DefaultsKey("broken volume", default: 0.0...1.0)] == 0...1)
    }
}
