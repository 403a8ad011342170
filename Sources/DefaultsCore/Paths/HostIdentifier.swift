import Glibc
import Linux

/// This host's identifier in the names of files in `ByHost`: the machine ID as an uppercase UUID.
package enum HostIdentifier {
    /// Returns the identifier; `nil` on a machine without a machine ID.
    package static func current() -> String? {
        for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
            guard let file = try? FileDescriptor(opening: path, O_RDONLY), let bytes = try? file.read(upTo: 64) else {
                continue
            }
            if let identifier = uuid(fromMachineID: String(decoding: bytes, as: UTF8.self)) { return identifier }
        }
        return nil
    }

    /// Formats 32 hexadecimal digits as a UUID; returns `nil` for any other text.
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
