import DefaultsKit
import Foundation
import Synchronization
import Testing

@Suite("Typed keys over Foundation's class", .timeLimit(.minutes(1)))
struct TypedKeyTests {
    private let suite: TemporarySuite
    private var defaults: UserDefaults { suite.defaults }

    init() throws {
        suite = try TemporarySuite()
    }

    @Test("A key without a value reads as its default")
    func withoutValue() {
        #expect(defaults[.width] == 1)
        #expect(defaults[.name] == nil)
        #expect(defaults.propertyListValue(forKey: "width") == nil)
    }

    /// Sets a value, and compares it as this instance, a new one and a new one after a save read it.
    private func check<Value: DefaultsValue & Equatable>(
        _ value: Value, _ fallback: Value, at location: SourceLocation = #_sourceLocation
    ) throws {
        let key = DefaultsKey("value", default: fallback)
        defaults[key] = value
        #expect(defaults[key] == value, sourceLocation: location)
        try #expect(#require(UserDefaults(suiteName: suite.name))[key] == value, sourceLocation: location)
        #expect(defaults.synchronize(), sourceLocation: location)
        try #expect(#require(UserDefaults(suiteName: suite.name))[key] == value, sourceLocation: location)
    }

    @Test("Numbers and Booleans read back as they were set")
    func numbers() throws {
        try check(-5, 0)
        try check(0, 1)
        try check(1, 0)
        try check(Int8.min, 0)
        try check(UInt8.max, 0)
        try check(UInt16.max, 0)
        try check(Int32.min, 0)
        // Foundation on Linux reads `Int.max` and `UInt64.max` back as 0.
        try check(Int64.max >> 1, 0)
        try check(UInt64(1) << 62, 0)
        try check(0.1, 0)
        try check(1.0, 0)
        try check(-1e300, 0)
        try check(0.1 as Float, 0)
        try check(true, false)
        try check(false, true)
    }

    @Test("Text, data, dates, URLs and identifiers read back as they were set")
    func texts() throws {
        try check("Ada", "")
        try check("", "x")
        try check("1", "x")
        try check("naïve 🙂 <&>", "")
        try check(Data([0, 255, 1]), Data())
        try check(Date(timeIntervalSinceReferenceDate: 700_000_000), .distantPast)
        try check(UUID(), UUID())
        let other = URL(filePath: "/other")
        try check(URL(filePath: "/tmp/a b", directoryHint: .notDirectory), other)
        try check(URL(filePath: "\(NSHomeDirectory())/a", directoryHint: .notDirectory), other)
        try check(#require(URL(string: "https://example.com/a?b#c")), other)
    }

    @Test("Collections, enumerations, Codable types and trees read back as they were set")
    func collections() throws {
        try check([1, 2, 3], [])
        try check([] as [Int], [1])
        try check([1, nil, 3], [])
        try check([true, false], [])
        try check(["a": [1.5], "b": []], [:])
        try check(Set(["b", "a"]), [])
        try check(1..<5, 0..<1)
        try check(0.5...1.5, 0...1)
        try check(Theme.dark, .light)
        try check([Theme.dark], [])
        try check(Window(title: "x", size: [], opened: Date(timeIntervalSinceReferenceDate: 5)), Window())
        try check(["a": Window()], [:])
        try check(["a": [1, 2.5, true, "x", ["b": .data([1])]], "c": false] as PropertyListValue, [:])
        try check("x" as String?, nil)
    }

    @Test("Stored values have the kinds that Foundation's own calls would store")
    func kinds() throws {
        defaults[DefaultsKey("flag", default: false)] = true
        defaults[DefaultsKey("one", default: 0)] = 1
        defaults[DefaultsKey("real", default: 0.0)] = 1
        defaults[DefaultsKey("theme", default: Theme.light)] = .dark
        defaults[DefaultsKey("list", default: [0])] = [1]
        #expect(defaults.bool(forKey: "flag"))
        #expect(defaults.integer(forKey: "one") == 1)
        #expect(defaults.double(forKey: "real") == 1)
        #expect(defaults.string(forKey: "theme") == "dark")
        #expect(defaults.array(forKey: "list") as? [Int] == [1])
        #expect(defaults.synchronize())
        #expect(defaults.propertyListValue(forKey: "flag") == .boolean(true))
        #expect(defaults.propertyListValue(forKey: "one") == .integer(1))
        #expect(defaults.propertyListValue(forKey: "real") == .real(1))
        let values = defaults.values()
        #expect(values["flag"] == .boolean(true))
        #expect(values["list"] == [1])
        guard let file = suite.file else { return }
        let stored = try PropertyListValue(parsing: [UInt8](Data(contentsOf: URL(filePath: file))))
        #expect(stored == ["flag": true, "one": 1, "real": .real(1), "theme": "dark", "list": [1]])
    }

    @Test("Values that Foundation's own calls set are read by typed keys")
    func foundation() {
        defaults.set(7, forKey: "width")
        defaults.set("dark", forKey: "theme")
        defaults.set("Ada" as NSString, forKey: "name")
        defaults.set(2.5 as Float, forKey: "float")
        defaults.set([NSNumber(value: 1), NSNumber(value: true)], forKey: "numbers")
        #expect(defaults[.width] == 7)
        #expect(defaults[.theme] == .dark)
        #expect(defaults[.name] == "Ada")
        #expect(defaults[DefaultsKey("float", default: 0 as Float)] == 2.5)
        #expect(defaults.propertyListValue(forKey: "numbers") == [1, true])
        defaults.set(NSNumber(value: 8), forKey: "width")
        #expect(defaults[.width] == 8)
        defaults.set("9", forKey: "width")
        #expect(defaults[.width] == 9)
    }

    @Test("A literal is set by Foundation's own call, and a property list value by ours")
    func literals() {
        defaults.set(5, forKey: "a")
        defaults.set("x", forKey: "b")
        defaults.set([1, 2], forKey: "c")
        defaults.set(["k": "v"], forKey: "d")
        defaults.set(["k": ["l": 1]] as PropertyListValue, forKey: "e")
        #expect(defaults.object(forKey: "a") as? Int == 5)
        #expect(defaults.object(forKey: "b") as? String == "x")
        #expect(defaults.object(forKey: "c") as? [Int] == [1, 2])
        #expect(defaults.object(forKey: "d") as? [String: String] == ["k": "v"])
        #expect(defaults.object(forKey: "e") as? [String: [String: Int]] == ["k": ["l": 1]])
    }

    @Test("Setting an optional key to nil removes it")
    func removal() {
        defaults[.name] = "Ada"
        #expect(defaults.string(forKey: "name") == "Ada")
        defaults[.name] = nil
        #expect(defaults.object(forKey: "name") == nil)
    }

    @Test("Resetting keys removes them")
    func reset() {
        defaults[.width] = 5
        defaults[.name] = "Ada"
        defaults[.theme] = .dark
        defaults.reset(.width, .name)
        #expect(defaults[.width] == 1)
        #expect(defaults[.name] == nil)
        defaults.reset([AnyDefaultsKey(DefaultsKey<Theme>.theme)])
        #expect(defaults.object(forKey: "theme") == nil)
    }

    @Test("Registered defaults are found by Foundation's own calls")
    func register() {
        // Registered values belong to the process.
        let key = DefaultsKey("registered-\(suite.name)", default: 5)
        let none = DefaultsKey<String?>("registered-none-\(suite.name)")
        defaults.register(key, none)
        #expect(defaults.integer(forKey: key.name) == 5)
        #expect(defaults.object(forKey: none.name) == nil)
        let other = DefaultsKey("registered-other-\(suite.name)", default: Theme.dark)
        defaults.register([AnyDefaultsKey(other)])
        #expect(defaults.string(forKey: other.name) == "dark")
        defaults[key] = 6
        #expect(defaults.integer(forKey: key.name) == 6)
        defaults.reset(key)
        #expect(defaults.integer(forKey: key.name) == 5)
    }

    @Test("A stored property reads and sets its key")
    func storedProperty() {
        struct Settings {
            @DefaultsStored var width: Int
        }
        let settings = Settings(width: DefaultsStored(.width, store: defaults))
        settings.width += 4
        #expect(defaults[.width] == 5)
        settings.$width.reset()
        #expect(settings.width == 1)
    }
}

@Suite("Problems over Foundation's class", .timeLimit(.minutes(1)))
struct ProblemTests {
    /// The problems reported in a separate process, since the handler belongs to the process.
    private final class Reports: Sendable {
        private let problems = Mutex<[DefaultsProblem]>([])

        init() { UserDefaults.setProblemHandler { problem in self.problems.withLock { $0.append(problem) } } }

        var all: [DefaultsProblem] { problems.withLock { $0 } }
    }

    @Test("A value of the wrong type reads as the default, stays, and is reported once")
    func mistyped() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let suite = try TemporarySuite()
            suite.defaults.set("wide", forKey: "width")
            for _ in 0..<3 { #expect(suite.defaults[.width] == 1) }
            #expect(suite.defaults.string(forKey: "width") == "wide")
            #expect(reports.all.map(\.code) == [.type])
            #expect(
                reports.all.first?.description
                    == "\"width\" is a string that can't be read as Int; the key's default is used. "
                    + "Set the key again, or remove it.")
        }
    }

    @Test("A value that can't be stored is reported, and the key keeps its value")
    func unstorable() async {
        await #expect(processExitsWith: .success) {
            let reports = Reports()
            let suite = try TemporarySuite()
            suite.defaults.set("old", forKey: "unstorable")
            suite.defaults[.unstorable] = Unstorable()
            suite.defaults.withTransaction { $0[.unstorable] = Unstorable() }
            suite.defaults.register(DefaultsKey<Unstorable>.unstorable)
            suite.defaults.set(.uid(1), forKey: "unstorable")
            suite.defaults[DefaultsKey<[PropertyListValue]>("unstorable", default: [])] = [["a": .uid(1)]]
            #expect(suite.defaults.string(forKey: "unstorable") == "old")
            #expect(reports.all.map(\.code) == [.value, .value, .value, .value, .value])
            #expect(throws: DefaultsProblem.self) { try suite.defaults.update(.unstorable) { $0 = Unstorable() } }
        }
    }
}
