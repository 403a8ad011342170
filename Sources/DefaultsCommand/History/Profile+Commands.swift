import DefaultsCore
import PropertyList

extension Profile {
    /// A shell script that makes the same edits.
    ///
    /// Each edit is a line with `defaults write` or `defaults delete`. The edits that no arguments express exactly,
    /// such as those of long values and of text with NULs, are a profile at the end of the script.
    func commands() throws -> String {
        var script = ""
        var rest = Profile()
        for (domain, edit) in edits.sorted(by: { $0.key < $1.key }) {
            for (key, value) in edit.sorted(by: { $0.key < $1.key }) {
                if let line = Self.line(setting: key, of: domain, to: value) {
                    script += line
                } else {
                    rest.edits[domain, default: [:]][key] = .some(value)
                }
            }
        }
        if rest.edits.isEmpty { return script }
        var encoded: [UInt8] = []
        Base64.encode(try rest.value.write(as: .binary)[...], to: &encoded)
        return script
            + """
            base64 -d <<'END' | defaults apply --name record -
            \(String(decoding: encoded, as: UTF8.self))
            END

            """
    }

    /// The maximum length of a line, which is half of what Linux allows for an argument.
    private static let longestLine = 1 << 16

    /// Returns the command that makes an edit; `nil` if no arguments express it exactly.
    private static func line(setting key: String, of domain: Domain, to value: PropertyListValue?) -> String? {
        let name = domain.name.description
        let host = domain.host.identifier
        // As arguments, these are something else, or refused.
        if name.hasSuffix(".plist") || host?.hasPrefix("-") ?? false { return nil }
        let hasDash = (domain: name.hasPrefix("-"), key: key.hasPrefix("-"))
        var words = ["defaults"] + (host.map { ["-host", $0] } ?? []) + [value == nil ? "delete" : "write"]
        if key.utf8.contains(where: ".\\".utf8.contains) { words.append("--literal-key") }
        if let value {
            guard let arguments = arguments(for: value) else { return nil }
            words += (hasDash.domain ? ["--"] : []) + [name] + (hasDash.key ? ["--"] : []) + [key] + arguments
        } else {
            words += (hasDash.domain || hasDash.key ? ["--"] : []) + [name, key]
        }
        let line = words.map(\.quotedForShell).joined(separator: " ") + "\n"
        return line.utf8.count > longestLine || line.utf8.contains(0) ? nil : line
    }

    /// Returns the arguments of `write` that set a value; `nil` if they would set another one.
    private static func arguments(for value: PropertyListValue) -> [String]? {
        let arguments: [String]
        switch value {
        case .string(let text): arguments = ["-string", text]
        case .integer(let number): arguments = ["-int", "\(number)"]
        case .unsigned(let number): arguments = ["-int", "\(number)"]
        case .real(let number): arguments = ["-float", "\(number)"]
        case .boolean(let flag): arguments = ["-bool", "\(flag)"]
        case .date(let date): arguments = ["-date", date.description]
        case .data(let bytes):
            arguments = ["-data", bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()]
        case .real32, .uid, .array, .dictionary:
            guard let text = try? value.write(as: .xml) else { return nil }
            arguments = [String(decoding: text, as: UTF8.self)]
        }
        var rest = arguments[...]
        return (try? TypedValue.parse(&rest)) == value ? arguments : nil
    }
}
