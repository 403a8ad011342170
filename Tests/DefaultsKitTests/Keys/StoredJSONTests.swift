import DefaultsKit
import FoundationEssentials
import PropertyList
import Testing

private struct Window: Codable, DefaultsValue, Equatable {
    var x = 0
    var title: String?
    var opened = Date(timeIntervalSinceReferenceDate: 0)
}

private enum Tool: Codable, DefaultsValue, Equatable {
    case pen(width: Double)
    case eraser
}

private enum Pace: String, Codable, DefaultsValue { case slow, fast }

private struct Name: Codable, DefaultsValue, Equatable {
    var text: String

    init(_ text: String) { self.text = text }
    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// `Codable` values as stored by other libraries with typed keys: JSON in a string or in data.
@Suite("Codable values stored as JSON")
struct StoredJSONTests {
    private let window = Window(x: 5, title: "main", opened: Date(timeIntervalSinceReferenceDate: 60))

    private func json(_ value: some Encodable) throws -> Data { try JSONEncoder().encode(value) }

    private func text(_ value: some Encodable) throws -> PropertyListValue {
        .string(String(decoding: try json(value), as: UTF8.self))
    }

    @Test("A Codable value stored as JSON text or data is read")
    func textAndData() throws {
        let key = DefaultsKey("window", default: Window())
        for value in [try text(window), .data([UInt8](try json(window)))] {
            let defaults = UserDefaults(inMemory: ["window": value])
            #expect(defaults[key] == window)
        }
    }

    @Test("A Codable value stored as JSON text in an array, dictionary or optional is read")
    func nested() throws {
        let value = try text(window)
        let defaults = UserDefaults(inMemory: ["list": [value, value], "table": ["a": value], "one": value])
        #expect(defaults[DefaultsKey<[Window]>("list", default: [])] == [window, window])
        #expect(defaults[DefaultsKey<[String: Window]>("table", default: [:])] == ["a": window])
        #expect(defaults[DefaultsKey<Window?>("one")] == window)
    }

    @Test("An enumeration stored as JSON text is read, with or without raw values")
    func enumerations() throws {
        let defaults = UserDefaults(inMemory: ["tool": try text(Tool.pen(width: 2)), "pace": try text([Pace.fast])])
        #expect(defaults[DefaultsKey("tool", default: Tool.eraser)] == .pen(width: 2))
        // A JSON fragment, written without the array around it.
        defaults.set("\"fast\"", forKey: "pace")
        #expect(defaults[DefaultsKey("pace", default: Pace.slow)] == .fast)
    }

    @Test("Editing a value stored as JSON text keeps its other properties and stores a property list")
    func edited() throws {
        let defaults = UserDefaults(inMemory: ["window": try text(window)])
        defaults[DefaultsKey("window", default: Window())].x += 1
        #expect(
            defaults.propertyListValue(forKey: "window")
                == ["x": 6, "title": "main", "opened": .date(PropertyListDate(secondsSinceReferenceDate: 60))])
    }

    @Test("A string that is the value itself isn't parsed as JSON")
    func plainText() {
        let defaults = UserDefaults(inMemory: [:])
        let key = DefaultsKey("name", default: Name(""))
        for text in ["\"quoted\"", "{}", "[1]", "null"] {
            defaults[key] = Name(text)
            #expect(defaults[key] == Name(text))
        }
    }

    @Test(
        "Text and data that aren't a matching JSON value read as the default",
        arguments: [
            "", "{", "{}x", "[1, 2]", "null", "\"x\"", .data([]), .data([0x7B]), .data([0xFF, 0xFE]),
            .string(String(repeating: "[", count: 100_000)),
        ] as [PropertyListValue])
    func broken(value: PropertyListValue) {
        let defaults = UserDefaults(inMemory: ["broken window": value])
        #expect(defaults[DefaultsKey("broken window", default: window)] == window)
    }
}
