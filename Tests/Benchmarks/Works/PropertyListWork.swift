import CPeers
import Foundation
import Glibc
import PropertyList

/// Reading and writing property lists: a typical app's, a large one, and a huge one.
struct PropertyListWork {
    let isQuick: Bool

    func works() throws -> [Work] {
        try (isQuick ? [20, 1_000] : [20, 1_000, 100_000]).flatMap { keys in
            try [PropertyListFormat.xml, .binary].flatMap { try works(keys: keys, format: $0) }
        } + [("33 KB", 800), ("1 MB", 21_500)].map { try spliceWork(size: $0, keys: $1) }
    }

    /// Returns the change of a key in a binary file, whose other values are known.
    private func spliceWork(size: String, keys: Int) throws -> Work {
        let bytes = try Self.document(of: keys).write(as: .binary)
        let count = max(1, 20_000 / keys)
        func splice() throws -> [UInt8] {
            let edits: [String: PropertyListValue?] = ["NSWindow Frame 1": .integer(1)]
            guard let result = BinarySplice.splice(edits, into: bytes, resultingCount: keys) else {
                throw BenchFailure("The splice was refused.")
            }
            return result
        }
        let value = try PropertyListValue(parsing: splice())
        return Work(
            name: "change a key in \(size), binary property list", unit: .microseconds, rounds: isQuick ? 5 : 20,
            contenders: [
                .ours { { try Stopwatch.each(of: count) { _ in Sink.take(try splice().count) } } },
                .peer("the same, and read back", package: "defaultsd") {
                    {
                        try Stopwatch.each(of: count) { _ in
                            Sink.take(try PropertyListValue(parsing: splice()) == value ? 0 : 1)
                        }
                    }
                },
                .peer("written as a whole", package: "defaultsd") {
                    { try Stopwatch.each(of: count) { _ in Sink.take(try value.write(as: .binary).count) } }
                },
            ])
    }

    private func works(keys: Int, format: PropertyListFormat) throws -> [Work] {
        let value = Self.document(of: keys)
        let bytes = try value.write(as: format)
        let data = Data(bytes)
        // A turn takes the slowest contender about a tenth of a second.
        let count = max(1, 2_000 / keys)
        let rounds = keys > 10_000 ? 5 : isQuick ? 5 : 20
        let foundation = try PropertyListSerialization.propertyList(from: data, format: nil)
        let isBinary = format == .binary
        return [
            Work(
                name: "read \(keys) keys, \(format)", unit: .microseconds, rounds: rounds,
                contenders: [
                    .ours { { try Stopwatch.each(of: count) { _ in _ = try PropertyListValue(parsing: bytes) } } },
                    .peer("Foundation", package: "Swift", goal: 15) {
                        {
                            try Stopwatch.each(of: count) { _ in
                                _ = try PropertyListSerialization.propertyList(from: data, format: nil)
                            }
                        }
                    },
                    .peer("libplist", package: "libplist3", goal: isBinary ? 1 : 3) {
                        guard peer_libplist_open() else { return nil }
                        return {
                            Stopwatch.each(of: count) { _ in
                                peer_libplist_read(bytes, bytes.count).map(peer_libplist_free)
                            }
                        }
                    },
                    .peer("plistlib", package: "python3", goal: 1) { try Plistlib.round("loads", bytes, count) },
                    .limit("its values, made anew") {
                        // The result must be used, or the compiler could remove the work.
                        { Stopwatch.each(of: count) { _ in if case .array = Self.copy(value) { Sink.take(1) } } }
                    },
                    .limit("memchr over the bytes") {
                        // Search for a byte that doesn't occur.
                        let searched = bytes.map { $0 == 0xFE ? 0 : $0 }
                        return {
                            Stopwatch.each(of: count * 10) { _ in
                                Sink.take(memchr(searched, 0xFE, searched.count) == nil ? 0 : 1)
                            }
                        }
                    },
                ]),
            Work(
                name: "write \(keys) keys, \(format)", unit: .microseconds, rounds: rounds,
                contenders: [
                    .ours { { try Stopwatch.each(of: count) { _ in _ = try value.write(as: format) } } },
                    .peer("Foundation", package: "Swift", goal: 15) {
                        {
                            try Stopwatch.each(of: count) { _ in
                                _ = try PropertyListSerialization.data(
                                    fromPropertyList: foundation, format: isBinary ? .binary : .xml, options: 0)
                            }
                        }
                    },
                    .peer("libplist", package: "libplist3", goal: isBinary ? 1 : 2) {
                        guard peer_libplist_open(), let document = peer_libplist_read(bytes, bytes.count) else {
                            return nil
                        }
                        return { Stopwatch.each(of: count) { _ in Sink.take(peer_libplist_write(document, isBinary)) } }
                    },
                    .peer("plistlib", package: "python3", goal: 1) {
                        try Plistlib.round(isBinary ? "dumps_binary" : "dumps", bytes, count)
                    },
                ]),
        ]
    }

    /// Returns a copy made of new strings, arrays and dictionaries: a reader's work without the parsing.
    private static func copy(_ value: PropertyListValue) -> PropertyListValue {
        switch value {
        case .string(let text): return .string(String(decoding: text.utf8, as: UTF8.self))
        case .array(let elements): return .array(elements.map(copy))
        case .dictionary(let values):
            var copies = [String: PropertyListValue](minimumCapacity: values.count)
            for (key, value) in values { copies[String(decoding: key.utf8, as: UTF8.self)] = copy(value) }
            return .dictionary(copies)
        default: return value
        }
    }

    /// Returns typical preferences: mostly small values of all kinds, with some arrays and dictionaries.
    private static func document(of keys: Int) -> PropertyListValue {
        var values: [String: PropertyListValue] = [:]
        for number in 0..<keys {
            let key = "NSWindow Frame \(number)"
            switch number % 8 {
            case 0: values[key] = .boolean(number % 16 == 0)
            case 1, 2: values[key] = .integer(Int64(number) * 7_919)
            case 3: values[key] = .real(Double(number) / 7)
            case 4: values[key] = .string("\(number) 240 1024 768 0 0 2560 1440 & more")
            case 5: values[key] = .date(PropertyListDate(secondsSinceReferenceDate: Double(number) * 1_000))
            case 6: values[key] = .array([.string("one"), .integer(Int64(number)), .boolean(true)])
            default: values[key] = .dictionary(["x": .integer(Int64(number)), "title": .string("Untitled \(number)")])
            }
        }
        return .dictionary(values)
    }
}
