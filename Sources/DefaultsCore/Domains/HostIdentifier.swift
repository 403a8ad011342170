import Glibc

/// This host's name in the files of `ByHost`: its machine-id as an upper-case UUID.
package enum HostIdentifier {
    /// The identifier, or `nil` on a machine that has no machine-id.
    package static func current() -> String? {
        for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
            guard let file = try? FileDescriptor(opening: path, O_RDONLY), let bytes = try? file.read(upTo: 64) else {
                continue
            }
            if let identifier = uuid(fromMachineID: String(decoding: bytes, as: UTF8.self)) { return identifier }
        }
        return nil
    }

    /// Writes 32 hexadecimal digits as a UUID; `nil` for any other text.
    package static func uuid(fromMachineID text: String) -> String? {
        let digits = text.prefix { !$0.isWhitespace }.uppercased()
        guard digits.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        var rest = digits[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { rest = rest.dropFirst(count) }
            return String(rest.prefix(count))
        }.joined(separator: "-")
    }
}
