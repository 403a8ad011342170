import Foundation
import PropertyList
import TestSupport

/// Reads documents with Python's plistlib; returns the value or the exception for each.
func readByPython(
    _ documents: [[UInt8]], _ format: PropertyListFormat
) throws -> [(value: PropertyListValue?, refusal: String?)] {
    let script = """
        import datetime, json, plistlib, struct, sys
        def plain(value):
            if isinstance(value, bool): return ["boolean", value]
            if isinstance(value, int): return ["integer", str(value)]
            if isinstance(value, float): return ["real", str(struct.unpack(">Q", struct.pack(">d", value))[0])]
            if isinstance(value, str): return ["string", value.encode("utf-16-le", "surrogatepass").hex()]
            if isinstance(value, bytes): return ["data", value.hex()]
            if isinstance(value, plistlib.UID): return ["uid", str(value.data)]
            if isinstance(value, datetime.datetime):
                return ["date", (value - datetime.datetime(2001, 1, 1)) / datetime.timedelta(microseconds=1) / 1e6]
            if isinstance(value, list): return ["array"] + [plain(v) for v in value]
            return ["dictionary"] + [[plain(k), plain(v)] for k, v in value.items()]
        form = plistlib.FMT_BINARY if sys.argv[2] == "binary" else plistlib.FMT_XML
        out = open(sys.argv[1] + ".out", "w")
        for line in open(sys.argv[1]):
            try: print(json.dumps(plain(plistlib.loads(bytes.fromhex(line.strip()), fmt=form))), file=out)
            except Exception as error: print(json.dumps(type(error).__name__), file=out)
        """
    return try withTemporaryDirectory { directory in
        let list = URL(fileURLWithPath: directory + "/list")
        let lines = documents.map { $0.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined() }
        try Data(lines.joined(separator: "\n").utf8).write(to: list)
        try ForeignProcess.run(python: script, [list.path, format == .xml ? "xml" : "binary"])
        let output = try String(contentsOf: list.appendingPathExtension("out"), encoding: .utf8)
        return try output.split(separator: "\n").map {
            let object = try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
            return (PropertyListValue(python: object), object as? String)
        }
    }
}

extension PropertyListValue {
    /// Converts a value from the script's output.
    fileprivate init?(python object: Any) {
        guard let parts = object as? [Any], let kind = parts.first as? String else { return nil }
        let text = parts.dropFirst().first as? String ?? ""
        switch kind {
        case "boolean": self = .boolean(parts[1] as? Bool ?? false)
        case "integer":
            guard let number = UInt64(text).map(PropertyListValue.number) ?? Int64(text).map(PropertyListValue.integer)
            else {
                return nil
            }
            self = number
        case "real": self = .real(Double(bitPattern: UInt64(text) ?? 0))
        case "uid": self = .uid(UInt64(text) ?? 0)
        case "date": self = .date(PropertyListDate(secondsSinceReferenceDate: parts[1] as? Double ?? 0))
        case "data": self = .data(Self.bytes(text))
        case "string":
            let bytes = Self.bytes(text)
            let units = stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
            self = .string(String(decoding: units, as: UTF16.self))
        case "array": self = .array(parts.dropFirst().map { PropertyListValue(python: $0) ?? .uid(.max) })
        default:
            var values: [String: PropertyListValue] = [:]
            for case let pair as [Any] in parts.dropFirst() {
                guard case .string(let key)? = PropertyListValue(python: pair[0]) else { return nil }
                values[key] = PropertyListValue(python: pair[1])
            }
            self = .dictionary(values)
        }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { UInt8($0 > 0x60 ? $0 - 87 : $0 - 48) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
