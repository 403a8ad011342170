import Linux
package import PropertyList

/// Reads the entries of a dictionary that came from outside; each error names the entry.
package struct Fields {
    package let values: DomainValues

    package init(_ values: DomainValues) {
        self.values = values
    }

    /// Takes a value as a dictionary.
    package init(_ value: PropertyListValue, of what: String) throws(DefaultsError) {
        guard case .dictionary(let values) = value else {
            throw DefaultsError(.protocolViolation, "\(what) must be a dictionary.")
        }
        self.values = values
    }

    package func string(_ key: String) throws(DefaultsError) -> String {
        guard let text = try optionalString(key) else { throw Self.wrong(key, "a string") }
        return text
    }

    package func optionalString(_ key: String) throws(DefaultsError) -> String? {
        switch values[key] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw Self.wrong(key, "a string")
        }
    }

    package func integer(_ key: String) throws(DefaultsError) -> Int64 {
        guard case .integer(let number)? = values[key] else { throw Self.wrong(key, "an integer") }
        return number
    }

    package func unsigned(_ key: String) throws(DefaultsError) -> UInt64 {
        switch values[key] {
        case .integer(let number)? where number >= 0: return UInt64(number)
        case .unsigned(let number)?: return number
        default: throw Self.wrong(key, "a whole number from 0 on")
        }
    }

    /// A Boolean, false when it isn't there.
    package func flag(_ key: String) throws(DefaultsError) -> Bool {
        switch values[key] {
        case nil: return false
        case .boolean(let flag)?: return flag
        default: throw Self.wrong(key, "a Boolean")
        }
    }

    /// An array, empty when it isn't there.
    package func array(_ key: String) throws(DefaultsError) -> [PropertyListValue] {
        switch values[key] {
        case nil: return []
        case .array(let elements)?: return elements
        default: throw Self.wrong(key, "an array")
        }
    }

    /// An array of strings, empty when it isn't there.
    package func strings(_ key: String) throws(DefaultsError) -> [String] {
        try array(key).map { element throws(DefaultsError) in
            guard case .string(let text) = element else { throw Self.wrong(key, "an array of strings") }
            return text
        }
    }

    package func dictionary(_ key: String) throws(DefaultsError) -> DomainValues {
        guard case .dictionary(let values)? = values[key] else { throw Self.wrong(key, "a dictionary") }
        return values
    }

    /// A domain, from the entries `domain`, `host` and `user`.
    package func domain() throws(DefaultsError) -> Domain {
        Domain(
            try DomainName(string("domain")),
            host: try DomainHost(identifier: optionalString("host")),
            user: try user())
    }

    /// The domains of the entry `domains`.
    package func domains() throws(DefaultsError) -> [Domain] {
        try array("domains").map { value throws(DefaultsError) in try Fields(value, of: "A domain").domain() }
    }

    private func user() throws(DefaultsError) -> DomainUser {
        switch try optionalString("user") {
        case nil: return .current
        case "managed"?: return .managed
        case let path?:
            guard Self.isAbsolute(path) else { throw Self.wrong("user", "\"managed\" or an absolute path") }
            return .any(directory: path)
        }
    }

    /// The system's directories, from the entries `system` and `managed`.
    package func systemDirectories() throws(DefaultsError) -> SystemDirectories {
        let (anyUser, managed) = (try strings("system"), try optionalString("managed"))
        guard anyUser.allSatisfy(Self.isAbsolute) else { throw Self.wrong("system", "an array of absolute paths") }
        guard managed.map(Self.isAbsolute) ?? true else { throw Self.wrong("managed", "an absolute path") }
        return SystemDirectories(anyUser: anyUser, managed: managed)
    }

    private static func isAbsolute(_ path: String) -> Bool {
        Path.isAbsolute(path) && !path.utf8.contains(0)
    }

    package static func wrong(_ key: String, _ expected: String) -> DefaultsError {
        DefaultsError(.protocolViolation, "The entry \"\(key)\" must be \(expected).")
    }
}

extension Domain {
    /// The entries that name a domain in a message.
    package var fields: DomainValues {
        // With room for all that is added in a message about it.
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

extension SystemDirectories {
    /// The entries that name the directories in a message.
    package var fields: DomainValues {
        var fields: DomainValues = ["system": .array(anyUser.map { .string($0) })]
        if let managed { fields["managed"] = .string(managed) }
        return fields
    }
}
