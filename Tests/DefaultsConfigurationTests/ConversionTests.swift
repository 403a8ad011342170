#if Configuration
import Configuration
import DefaultsConfiguration
import DefaultsKit
import PropertyList
import Testing

@Suite("Conversion of stored values")
struct ConversionTests {
    private typealias Row = (stored: PropertyListValue, type: ConfigType, content: ConfigContent?)

    private static let date = PropertyListValue.date(PropertyListDate(secondsSinceReferenceDate: 0.25))

    private static let table: [Row] = [
        ("x", .string, "x"), ("42", .int, 42), ("-42", .int, -42), ("42 ", .int, nil), ("4.2", .int, nil),
        ("4.2", .double, 4.2), ("1e3", .double, 1000.0), ("4,2", .double, nil), ("", .double, nil),
        ("true", .bool, true), ("YES", .bool, true), ("1", .bool, true), ("False", .bool, false), ("no", .bool, false),
        ("0", .bool, false), ("y", .bool, nil), ("2", .bool, nil),
        ("bWFnaWM=", .bytes, .bytes(Array("magic".utf8))), ("?", .bytes, nil),

        (42, .int, 42), (42, .double, 42.0), (42, .string, "42"), (42, .bool, true), (0, .bool, false),
        (42, .bytes, nil), (42, .intArray, nil), (.integer(.max), .double, nil), (.unsigned(.max), .int, nil),
        (.unsigned(.max), .string, "18446744073709551615"),

        (3.5, .double, 3.5), (3.5, .int, nil), (3.0, .int, 3), (3.5, .string, "3.5"), (0.5, .bool, true),
        (.real(.nan), .int, nil), (.real(.infinity), .int, nil), (.real32(0.5), .double, 0.5), (.real32(2), .int, 2),
        (.real32(12.34), .string, "12.34"),

        (true, .bool, true), (true, .int, 1), (false, .double, 0.0), (true, .string, "1"),

        (date, .string, "2001-01-01T00:00:00.25Z"), (date, .int, nil), (date, .double, nil),
        (.array([date]), .stringArray, .stringArray(["2001-01-01T00:00:00.25Z"])),
        (.date(PropertyListDate(secondsSinceReferenceDate: 1e300)), .string, nil),

        (.data([1, 2]), .bytes, .bytes([1, 2])), (.data([1, 2]), .string, nil), (.data([]), .bytes, .bytes([])),
        (.uid(1), .int, nil), (.uid(1), .string, nil),

        (.array([]), .stringArray, .stringArray([])), (.array([]), .byteChunkArray, .byteChunkArray([])),
        (["a", 1], .stringArray, .stringArray(["a", "1"])), (["1", 2, 3.0], .intArray, .intArray([1, 2, 3])),
        (["1", "x"], .intArray, nil), ([1, 2.5], .doubleArray, .doubleArray([1, 2.5])),
        (["yes", 0], .boolArray, .boolArray([true, false])), ([["a"]], .stringArray, nil), (["a"], .string, nil),
        ("a, b c ,", .stringArray, .stringArray(["a", "b c", ""])), ("1, 2", .intArray, .intArray([1, 2])),
        ("1,,2", .intArray, nil), ("bWFnaWM=", .byteChunkArray, .byteChunkArray([Array("magic".utf8)])),

        (["a": 1], .string, nil), (["a": 1], .stringArray, nil), ([["a": 1]], .stringArray, nil),
    ]

    @Test("A stored value is read as the requested type, or not at all", arguments: table.indices)
    func conversion(row: Int) throws {
        let (stored, type, content) = Self.table[row]
        let provider = UserDefaultsProvider(UserDefaults(inMemory: ["key": stored]))
        if let content {
            let read = try provider.value(forKey: "key", type: type)
            #expect(read == LookupResult(encodedKey: "key", value: ConfigValue(content, isSecret: false)))
        } else {
            let error = #expect(throws: UserDefaultsProviderError.self) {
                try provider.value(forKey: "key", type: type)
            }
            #expect(error?.key == "key")
            #expect(error?.requestedType == type)
        }
    }

    @Test("The provider's decoder and separator apply to stored values")
    func decoderAndSeparator() throws {
        let defaults = UserDefaults(inMemory: ["bytes": "0aff", "list": "1:2"])
        let provider = UserDefaultsProvider(defaults, bytesDecoder: .hex, arraySeparator: ":")
        let bytes = try provider.value(forKey: "bytes", type: .bytes).value?.content
        let list = try provider.value(forKey: "list", type: .intArray).value?.content
        #expect(bytes == .bytes([0x0a, 0xff]))
        #expect(list == .intArray([1, 2]))
    }

    @Test("The error for an unreadable value names its kind and never shows it")
    func complaint() {
        let config = ConfigReader(
            provider: UserDefaultsProvider(UserDefaults(inMemory: ["password": "hunter2", "http": ["port": 80]])))
        let password = #expect(throws: UserDefaultsProviderError.self) { try config.requiredInt(forKey: "password") }
        #expect(
            password?.description
                == """
                The value of "password" is a string that can't be read as int. \
                Store such a value, or request another type.
                """)
        let http = #expect(throws: UserDefaultsProviderError.self) { try config.requiredString(forKey: "http") }
        #expect(
            http?.description
                == """
                The value of "http" is a dictionary that can't be read as string. \
                Read its keys instead, such as "http.name".
                """)
    }
}
#endif
