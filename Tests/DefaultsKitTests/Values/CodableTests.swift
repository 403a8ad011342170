import DefaultsCore
import DefaultsKit
import Foundation
import PropertyList
import Testing

@Suite("Codable values")
struct CodableTests {
    struct Inner: Codable, Hashable { var name = "inner", list: [Int?] = [1, nil, 3], map = ["k": 1.5] }
    enum Shape: Codable, Hashable { case point, circle(radius: Double), box(Int, Int) }

    struct Everything: Codable, Hashable {
        var text = "é😀", flag = true, int = Int.min, i8 = Int8.min, i16 = Int16.max, i32 = Int32.min, i64 = Int64.max
        var uint = UInt.max, u8 = UInt8.max, u16 = UInt16.max, u32 = UInt32.max, u64 = UInt64.max
        var double = 0.1, whole = 5.0, float = Float(12.25), data = Data([0, 255])
        var date = Date(timeIntervalSinceReferenceDate: 0.25), missing: String?, present: String? = "x"
        var inner = Inner(), inners = [Inner()], nested = [[1], []],
            shapes = [Shape.point, .circle(radius: 1), .box(1, 2)]
        var byNumber = [1: "a"], ordered = ["a", "b"], set: Set = ["one"], uuid = UUID()
    }

    @Test("A Codable value reads back unchanged")
    func roundTrip() throws {
        let value = Everything()
        #expect(try PropertyListValue(encoding: value).decode(Everything.self) == value)
    }

    @Test("A Codable value is encoded as Foundation's encoder encodes it")
    func foundationTree() throws {
        let value = Everything()
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let foundation = try PropertyListValue(parsing: [UInt8](encoder.encode(value)))
        let ours = try PropertyListValue(encoding: value)
        #expect(ours == foundation)
    }

    @Test("Foundation's decoder reads an encoded value", arguments: [PropertyListFormat.binary, .xml])
    func decodedByFoundation(format: PropertyListFormat) throws {
        var value = Everything()
        // XML stores only whole seconds.
        value.date = Date(timeIntervalSinceReferenceDate: 5)
        let bytes = try PropertyListValue(encoding: value).write(as: format)
        #expect(try PropertyListDecoder().decode(Everything.self, from: Data(bytes)) == value)
    }

    @Test(
        "A document from Foundation's encoder is decoded",
        arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func encodedByFoundation(format: PropertyListSerialization.PropertyListFormat) throws {
        var value = Everything()
        value.date = Date(timeIntervalSinceReferenceDate: 5)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let tree = try PropertyListValue(parsing: [UInt8](encoder.encode(value)))
        #expect(try tree.decode(Everything.self) == value)
    }

    @Test("A single scalar can be encoded and decoded")
    func scalars() throws {
        #expect(try PropertyListValue(encoding: 5) == 5)
        #expect(try PropertyListValue(encoding: Float(12.34)) == .real32(12.34))
        #expect(try PropertyListValue(encoding: "a") == "a")
        #expect(try PropertyListValue(encoding: Int?.none) == "$null")
        #expect(try PropertyListValue.string("$null").decode(Int?.self) == nil)
        #expect(try PropertyListValue.string("$null").decode(String.self) == "$null")
        #expect(try PropertyListValue(encoding: UInt64.max) == .unsigned(.max))
        #expect(try PropertyListValue(encoding: Int128(-5)) == -5)
        #expect(try PropertyListValue.integer(-5).decode(Int128.self) == -5)
        #expect(try PropertyListValue.unsigned(.max).decode(UInt128.self) == UInt128(UInt64.max))
        #expect(throws: EncodingError.self) { try PropertyListValue(encoding: [Int128.max]) }
        #expect(throws: DecodingError.self) { try PropertyListValue.integer(-5).decode(UInt128.self) }
    }

    struct Widest: Codable, Equatable, DefaultsValue {
        var signed: Int128 = -5
        var unsigned: UInt128 = .init(UInt64.max)
        var list: [Int128] = [1, 2]
        var missing: Int128?
    }

    @Test("The widest integers are stored as properties, too")
    func widest() throws {
        let tree = try PropertyListValue(encoding: Widest())
        #expect(tree == ["signed": -5, "unsigned": .unsigned(.max), "list": [1, 2]])
        #expect(try tree.decode() == Widest())
        #expect(throws: EncodingError.self) { try PropertyListValue(encoding: Widest(signed: .max)) }
        #expect(throws: DecodingError.self) { try (["signed": "x"] as PropertyListValue).decode(Widest.self) }
    }

    struct Named: Codable, Equatable, DefaultsValue { var name: String? }

    @Test("The text \"$null\" stays a text in keys and properties, but not in arrays")
    func nullText() throws {
        let defaults = UserDefaults(inMemory: [:])
        let (name, person) = (DefaultsKey<String?>("name"), DefaultsKey("person", default: Named()))
        defaults[name] = "$null"
        defaults[person] = Named(name: "$null")
        #expect(defaults[name] == "$null" && defaults[person].name == "$null")
        defaults[name] = nil
        defaults[person] = Named()
        #expect(defaults[name] == nil && defaults[person].name == nil)
        let list = DefaultsKey<[String?]>("list", default: [])
        defaults[list] = ["a", nil]
        #expect(defaults[list] == ["a", nil])
    }

    @Test("A nil value is omitted from a keyed container, where Foundation writes a string")
    func nilByKey() throws {
        #expect(try PropertyListValue(encoding: ["a": nil, "b": 1] as [String: Int?]) == ["b": 1])
        let foundation = try PropertyListValue(parsing: [UInt8](PropertyListEncoder().encode(["a": Int?.none])))
        #expect(foundation == ["a": "$null"])
        #expect(try foundation.decode([String: Int?].self) == ["a": nil])
    }

    struct Place: Codable, Equatable { var url: URL }

    @Test("A URL in a Codable value is stored as the URL accessors store it, and Foundation's form is decoded")
    func urls() throws {
        let web = Place(url: try #require(URL(string: "http://example.com/a?b")))
        let file = Place(url: URL(filePath: "/a b", directoryHint: .notDirectory))
        #expect(try PropertyListValue(encoding: file) == ["url": "/a b"])
        for place in [web, file] {
            #expect(try PropertyListValue(encoding: place).decode(Place.self) == place)
            let foundation = try PropertyListValue(parsing: [UInt8](PropertyListEncoder().encode(place)))
            #expect(try foundation.decode(Place.self) == place)
        }
        let base = try #require(URL(string: "http://example.com/x/"))
        let relative = Place(url: try #require(URL(string: "a", relativeTo: base)))
        let foundation = try PropertyListValue(parsing: [UInt8](PropertyListEncoder().encode(relative)))
        #expect(try foundation.decode(Place.self) == relative)
    }

    class Animal: Codable {
        var legs = 4
    }

    final class Dog: Animal {
        var name = "Rex"
        enum Keys: String, CodingKey { case name, nested, parent }
        enum Nested: String, CodingKey { case a, list, nothing }

        override init() { super.init() }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(name, forKey: .name)
            var nested = container.nestedContainer(keyedBy: Nested.self, forKey: .nested)
            try nested.encode(1, forKey: .a)
            try nested.encodeNil(forKey: .nothing)
            var list = nested.nestedUnkeyedContainer(forKey: .list)
            try list.encode("x")
            try list.encodeNil()
            var inner = list.nestedContainer(keyedBy: Nested.self)
            try inner.encode(2, forKey: .a)
            var innerList = list.nestedUnkeyedContainer()
            try innerList.encode(contentsOf: [3, 4])
            try super.encode(to: list.superEncoder())
            try super.encode(to: container.superEncoder())
            try super.encode(to: container.superEncoder(forKey: .parent))
        }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            name = try container.decode(String.self, forKey: .name)
            let nested = try container.nestedContainer(keyedBy: Nested.self, forKey: .nested)
            #expect(try nested.decode(Int.self, forKey: .a) == 1)
            #expect(try nested.decodeNil(forKey: .nothing))
            var list = try nested.nestedUnkeyedContainer(forKey: .list)
            #expect(try list.decode(String.self) == "x")
            #expect(try list.decodeNil())
            let inner = try list.nestedContainer(keyedBy: Nested.self)
            #expect(try inner.decode(Int.self, forKey: .a) == 2)
            var innerList = try list.nestedUnkeyedContainer()
            #expect(try innerList.decode(Int.self) == 3)
            #expect(try innerList.decode(Int.self) == 4)
            #expect(innerList.isAtEnd)
            #expect(try Animal(from: list.superDecoder()).legs == 3)
            #expect(list.isAtEnd)
            #expect(try Animal(from: container.superDecoder(forKey: .parent)).legs == 3)
            try super.init(from: container.superDecoder())
        }
    }

    @Test("Containers of all kinds can be encoded and decoded, nested and for superclasses")
    func containers() throws {
        let dog = Dog()
        dog.legs = 3
        let tree = try PropertyListValue(encoding: dog)
        #expect(
            tree == [
                "name": "Rex", "super": ["legs": 3], "parent": ["legs": 3],
                "nested": ["a": 1, "list": ["x", "$null", ["a": 2], [3, 4], ["legs": 3]]],
            ])
        let copy = try tree.decode(Dog.self)
        #expect(copy.name == "Rex")
        #expect(copy.legs == 3)
        let foundation = try PropertyListValue(parsing: [UInt8](PropertyListEncoder().encode(dog)))
        #expect(try foundation.decode(Dog.self).legs == 3)
    }

    struct Nothing: Codable, Equatable {
        init() {}
        init(from decoder: any Decoder) {}
        func encode(to encoder: any Encoder) {}
    }

    @Test("A value that encodes nothing becomes an empty dictionary")
    func nothing() throws {
        #expect(try PropertyListValue(encoding: [Nothing()]) == [[:]])
        #expect(try PropertyListValue(encoding: Nothing()) == [:])
    }

    struct Nested: Codable, DefaultsValue {
        var levels: Int

        init(levels: Int) { self.levels = levels }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            levels = container.isAtEnd ? 1 : try container.decode(Nested.self).levels + 1
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if levels > 1 { try container.encode(Nested(levels: levels - 1)) }
        }
    }

    @Test("A value is stored only if it isn't nested too deeply for its file to be read again")
    func depth() throws {
        let deepest = try PropertyListValue(storing: Nested(levels: 499), forKey: "a")
        let bytes = try PropertyListValue.dictionary(["a": #require(deepest)]).write(as: .binary)
        let file = try PropertyListValue(parsing: bytes, limits: PropertyListLimits.domainFile)
        #expect(file == ["a": try #require(deepest)])
        #expect(try deepest?.decode(Nested.self).levels == 499)
        let tooDeep = #expect(throws: DefaultsError.self) {
            try PropertyListValue(storing: Nested(levels: 500), forKey: "a")
        }
        #expect(
            tooDeep?.description
                == "\"a\" is a Nested, which can't be made a property list: "
                + "The value nests more than the 499 containers that can be stored.")
        let plain = try #require(deepest)
        #expect(throws: DefaultsError.self) { try PropertyListValue(storing: [plain], forKey: "a") }
        #expect(throws: DefaultsError.self) { try PropertyListValue(any: [plain], forKey: "a") }
        #expect(try PropertyListValue(any: plain.anyValue, forKey: "a") == plain)
    }

    struct Twice: Encodable {
        func encode(to encoder: any Encoder) throws {
            var single = encoder.singleValueContainer()
            try single.encode(1)
            try single.encode(2)
        }
    }

    struct TwoKinds: Encodable {
        func encode(to encoder: any Encoder) throws {
            var keyed = encoder.container(keyedBy: Dog.Keys.self)
            try keyed.encode(1, forKey: .name)
            var unkeyed = encoder.unkeyedContainer()
            try unkeyed.encode(2)
        }
    }

    final class Ring: Encodable {
        func encode(to encoder: any Encoder) throws {
            var unkeyed = encoder.unkeyedContainer()
            try unkeyed.encode(self)
        }
    }

    @Test("A value that encodes itself incorrectly causes an error, not a trap")
    func wrong() {
        for value in [["k": [Twice()]], ["k": [TwoKinds()]]] as [[String: [any Encodable]]] {
            let error = #expect(throws: EncodingError.self) { try PropertyListValue(encoding: Erased(value)) }
            guard case .invalidValue(_, let context)? = error else { continue }
            #expect(
                context.debugDescription
                    == "The value at \"k[0]\" encodes itself twice, or as two kinds of container.")
        }
        let error = #expect(throws: EncodingError.self) { try PropertyListValue(encoding: Ring()) }
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(
            context.debugDescription
                == "The value nests more than the 499 containers that can be stored.")
    }

    /// Encodes a dictionary of arrays with elements of any type.
    struct Erased: Encodable {
        let values: [String: [any Encodable]]

        init(_ values: [String: [any Encodable]]) { self.values = values }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            for (key, values) in values {
                var list = container.nestedUnkeyedContainer(forKey: Key(stringValue: key))
                for value in values { try list.encode(value) }
            }
        }

        struct Key: CodingKey {
            let stringValue: String
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
            var intValue: Int? { nil }
        }
    }

    struct Size: Codable { var width: UInt8, tags: [String], deep: [String: [Bool]]? }

    static let unfit: [(PropertyListValue, String, [String])] = [
        (["tags": []], "There is no value at \"width\".", []),
        (
            ["width": "5", "tags": []], "Expected a whole number from 0 to 255 at \"width\", but found a string.",
            ["width"]
        ),
        (["width": 300, "tags": []], "Expected a whole number from 0 to 255 at \"width\", but found 300.", ["width"]),
        (["width": 1.5, "tags": []], "Expected a whole number from 0 to 255 at \"width\", but found 1.5.", ["width"]),
        (
            ["width": true, "tags": []], "Expected a whole number from 0 to 255 at \"width\", but found a Boolean.",
            ["width"]
        ),
        (["width": 1, "tags": [:]], "Expected an array at \"tags\", but found a dictionary.", ["tags"]),
        (
            ["width": 1, "tags": ["a", 1]], "Expected a string at \"tags[1]\", but found a whole number.",
            ["tags", "Index 1"]
        ),
        (
            ["width": 1, "tags": [], "deep": ["k": [true, 1]]],
            "Expected a Boolean at \"deep.k[1]\", but found a whole number.", ["deep", "k", "Index 1"]
        ),
        ([1], "Expected a dictionary, but found an array.", []),
    ]

    @Test("The error for a mismatched value states where and why", arguments: unfit)
    func mistakes(value: PropertyListValue, sentence: String, path: [String]) throws {
        let error = try #require(throws: DecodingError.self) { try value.decode(Size.self) }
        let context: DecodingError.Context
        switch error {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        @unknown default: return
        }
        #expect(context.debugDescription == sentence)
        let names = context.codingPath.map(\.stringValue)
        #expect(names == path)
    }

    @Test("Decoding more elements than an array has causes an error")
    func end() throws {
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                _ = try container.decode(Int.self)
            }
        }
        let error = try #require(throws: DecodingError.self) { try PropertyListValue.array([1]).decode(Pair.self) }
        guard case .valueNotFound(_, let context) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(context.debugDescription == "There is no value at \"[1]\": the array has 1.")
    }

    /// A type that needs to be told a unit, at any depth.
    private struct Length: Codable, Equatable {
        static let unit = CodingUserInfoKey(rawValue: "unit")

        var millimeters: Double

        init(millimeters: Double) { self.millimeters = millimeters }

        init(from decoder: any Decoder) throws {
            millimeters = try decoder.singleValueContainer().decode(Double.self) * Self.factor(decoder.userInfo)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(millimeters / Self.factor(encoder.userInfo))
        }

        private static func factor(_ information: [CodingUserInfoKey: Any]) -> Double {
            unit.flatMap { information[$0] as? Double } ?? 1
        }
    }

    @Test("Types that code themselves get the caller's information, at any depth")
    func userInfo() throws {
        let unit = try #require(Length.unit)
        let lengths = ["page": [Length(millimeters: 210), Length(millimeters: 297)]]
        let value = try PropertyListValue(encoding: lengths, userInfo: [unit: 10.0])
        #expect(value == ["page": [21.0, 29.7]])
        #expect(try value.decode(userInfo: [unit: 10.0]) == lengths)
        #expect(try value.decode() == ["page": [Length(millimeters: 21), Length(millimeters: 29.7)]])
    }
}
