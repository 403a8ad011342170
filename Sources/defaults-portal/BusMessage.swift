#if Portal
import CSettingsBus
import Glibc

/// A message on D-Bus; after a failure, it appends nothing more.
final class BusMessage {
    private let message: OpaquePointer
    /// A negative error number after a failure, or else 0 or more.
    private(set) var result: Int32 = 0

    /// Uses a message, which the caller owns.
    init(_ message: OpaquePointer) { self.message = message }

    private func attempt(_ call: () -> Int32) { if result >= 0 { result = call() } }

    private func append<Value>(_ value: Value, as type: Unicode.Scalar) {
        withUnsafePointer(to: value) { pointer in
            attempt { sd_bus_message_append_basic(message, CChar(type.value), pointer) }
        }
    }

    private func append(container type: Unicode.Scalar, of contents: String, _ body: () -> Void) {
        attempt { sd_bus_message_open_container(message, CChar(type.value), contents) }
        body()
        attempt { sd_bus_message_close_container(message) }
    }

    /// Appends a string, up to its first NUL, which D-Bus doesn't allow.
    func append(_ text: String) { attempt { sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), text) } }

    /// Appends a dictionary of variants.
    func append(_ entries: [String: PortalValue]) {
        appendDictionary(entries.sorted { $0.key < $1.key }, of: "{sv}") { key, value in
            append(key)
            appendVariant(value)
        }
    }

    /// Appends a dictionary, given the signature of its entries and how to append one.
    func appendDictionary<Key, Value>(
        _ entries: [(Key, Value)], of signature: String, _ body: (Key, Value) -> Void
    ) {
        append(container: "a", of: signature) {
            for (key, value) in entries {
                append(container: "e", of: String(signature.dropFirst().dropLast())) { body(key, value) }
            }
        }
    }

    /// Appends a variant.
    func appendVariant(_ value: PortalValue) { append(container: "v", of: value.signature) { append(value) } }

    private func append(_ value: PortalValue) {
        switch value {
        case .boolean(let flag): append(Int32(flag ? 1 : 0), as: "b")
        case .signed(let number): append(number, as: "i")
        case .unsigned(let number): append(number, as: "u")
        case .long(let number): append(number, as: "x")
        case .double(let number): append(number, as: "d")
        case .string(let text): append(text)
        case .strings(let texts): append(container: "a", of: "s") { texts.forEach(append) }
        case .color(let parts): append(container: "r", of: "ddd") { for part in parts { append(part, as: "d") } }
        case .bytes(let bytes):
            attempt { sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), bytes, bytes.count) }
        case .array(let values): append(container: "a", of: "v") { values.forEach(appendVariant) }
        case .dictionary(let entries): append(entries)
        }
    }

    /// Reads an array of strings.
    func strings() -> [String] {
        var texts: [String] = []
        attempt { sd_bus_message_enter_container(message, CChar(UInt8(ascii: "a")), "s") }
        while result > 0 {
            var text: UnsafePointer<CChar>?
            attempt { sd_bus_message_read_basic(message, CChar(UInt8(ascii: "s")), &text) }
            if result > 0, let text { texts.append(String(cString: text)) }
        }
        return texts
    }
}

extension PortalValue {
    /// The signature of the value's type.
    var signature: String {
        switch self {
        case .boolean: "b"
        case .signed: "i"
        case .unsigned: "u"
        case .long: "x"
        case .double: "d"
        case .string: "s"
        case .strings: "as"
        case .color: "(ddd)"
        case .bytes: "ay"
        case .array: "av"
        case .dictionary: "a{sv}"
        }
    }
}
#endif
