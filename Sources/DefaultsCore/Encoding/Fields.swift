import Linux
package import PropertyList

/// Typed access to the entries of a dictionary from an untrusted source; each error names the entry.
package struct Fields: Sendable {
    package let values: DomainValues
    /// Whether a dictionary, at any depth, had keys that differ only in Unicode normalization, of which one is left.
    var hasEquivalentKeys = false

    package init(_ values: DomainValues) {
        self.values = values
    }

    /// Creates fields from a value, which must be a dictionary.
    package init(_ value: PropertyListValue, of what: String) throws(DefaultsError) {
        guard case .dictionary(let values) = value else {
            throw DefaultsError(.protocolViolation, "\(what) must be a dictionary.")
        }
        self.values = values
    }

    package func string(_ key: String) throws(DefaultsError) -> String {
        guard let text = try optionalString(key) else { throw Self.wrong(key, not: "a string") }
        return text
    }

    package func optionalString(_ key: String) throws(DefaultsError) -> String? {
        switch values[key] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw Self.wrong(key, not: "a string")
        }
    }

    package func integer(_ key: String) throws(DefaultsError) -> Int64 {
        guard case .integer(let number)? = values[key] else { throw Self.wrong(key, not: "an integer") }
        return number
    }

    package func unsigned(_ key: String) throws(DefaultsError) -> UInt64 {
        switch values[key] {
        case .integer(let number)? where number >= 0: return UInt64(number)
        case .unsigned(let number)?: return number
        default: throw Self.wrong(key, not: "a non-negative integer")
        }
    }

    /// Returns a Boolean; false if the entry is missing.
    package func flag(_ key: String) throws(DefaultsError) -> Bool {
        switch values[key] {
        case nil: return false
        case .boolean(let flag)?: return flag
        default: throw Self.wrong(key, not: "a Boolean")
        }
    }

    /// Returns an array; empty if the entry is missing.
    package func array(_ key: String) throws(DefaultsError) -> [PropertyListValue] {
        switch values[key] {
        case nil: return []
        case .array(let elements)?: return elements
        default: throw Self.wrong(key, not: "an array")
        }
    }

    /// Returns an array of strings; empty if the entry is missing.
    package func strings(_ key: String) throws(DefaultsError) -> [String] {
        try array(key).map { element throws(DefaultsError) in
            guard case .string(let text) = element else { throw Self.wrong(key, not: "an array of strings") }
            return text
        }
    }

    /// Returns an array of numbers; empty if the entry is missing.
    func numbers(_ key: String) throws(DefaultsError) -> [UInt64] {
        try array(key).map { element throws(DefaultsError) in
            switch element {
            case .integer(let number) where number >= 0: return UInt64(number)
            case .unsigned(let number): return number
            default: throw Self.wrong(key, not: "an array of non-negative integers")
            }
        }
    }

    package func dictionary(_ key: String) throws(DefaultsError) -> DomainValues {
        guard case .dictionary(let values)? = values[key] else { throw Self.wrong(key, not: "a dictionary") }
        return values
    }

    /// Returns the domain given by the entries `domain`, `host` and `user`.
    package func domain() throws(DefaultsError) -> Domain {
        Domain(
            try DomainName(string("domain")),
            host: try DomainHost(identifier: optionalString("host")),
            user: try user())
    }

    /// Returns the domains listed in the entry `domains`.
    package func domains() throws(DefaultsError) -> [Domain] {
        try array("domains").map { value throws(DefaultsError) in try Fields(value, of: "A domain").domain() }
    }

    private func user() throws(DefaultsError) -> DomainUser {
        switch try optionalString("user") {
        case nil: return .current
        case "managed"?: return .managed
        case let path?:
            guard Self.isAbsolute(path) else { throw Self.wrong("user", not: "\"managed\" or an absolute path") }
            return .any(directory: path)
        }
    }

    static func isAbsolute(_ path: String) -> Bool {
        Path.isAbsolute(path) && !path.utf8.contains(0)
    }

    /// Checks that no key was lost.
    func checkKeys() throws(DefaultsError) {
        if !hasEquivalentKeys { return }
        throw DefaultsError(
            .protocolViolation, "A dictionary in the message has two keys that differ only in Unicode normalization.",
            remedy: "Send one of them.")
    }

    package static func wrong(_ key: String, not expected: String) -> DefaultsError {
        DefaultsError(.protocolViolation, "The entry \"\(key)\" must be \(expected).")
    }
}

extension Domain {
    /// The entries that identify the domain in a message.
    package var fields: DomainValues {
        // Reserve space for the entries that a message about the domain adds.
        var fields = DomainValues(minimumCapacity: 12)
        fields["domain"] = .string(name.description)
        if let host = host.identifier { fields["host"] = .string(host) }
        switch user {
        case .current: break
        case .any(let directory): fields["user"] = .string(directory)
        case .managed: fields["user"] = "managed"
        }
        return fields
    }
}
