package import DefaultsCore
import Manifests
package import PropertyList

/// The operands after the domain in `defaults write`: Apple's grammar of values.
package enum WriteOperands {
    /// One key and its new value.
    case key(KeyText, NewValue)
    /// The new values of all keys of the domain.
    case all(DomainValues)

    /// Reads a key and a value, or only a dictionary.
    package init(_ operands: [String], reading: KeyText.Reading, isJSON: Bool = false) throws(Failure) {
        var rest = operands[...]
        var reading = reading
        if let other = rest.first.flatMap(KeyText.Reading.init(option:)) {
            reading = other
            rest.removeFirst()
        }
        // After "--", a key may look like an option.
        if rest.first == "--" { rest.removeFirst() } else { try Self.checkKey(rest.first) }
        if isJSON {
            try self.init(json: rest, reading)
            return
        }
        guard let first = rest.popFirst() else {
            throw Failure("Give a key and a value, or a dictionary. See `defaults write --help`.", .usage)
        }
        guard let option = rest.first else {
            guard case .dictionary(let values) = try TypedValue.untyped(first) else {
                throw Failure(
                    "\"\(first)\" is not a dictionary. Give a key and a value, or '{key = value;}'. "
                        + "Defaults have not been changed.", .usage)
            }
            self = .all(values)
            return
        }
        let value: NewValue
        if TypedValue.composites.contains(option) {
            rest.removeFirst()
            switch option {
            case "-array": value = .set(.array(try Self.elements(&rest)))
            case "-array-add": value = .append(try Self.elements(&rest))
            case "-dict": value = .set(.dictionary(try Self.entries(&rest)))
            case "-flag", "-flag-add", "-flag-remove":
                value = .bits(try Self.names(&rest), option == "-flag" ? .set : option == "-flag-add" ? .add : .remove)
            default: value = .merge(try Self.entries(&rest))
            }
        } else {
            value = .set(try TypedValue.parse(&rest))
            if option.hasPrefix("-"), rest.count == 1, !TypedValue.options.contains(option) {
                throw Failure("Unknown type \"\(option)\"; leaving defaults unchanged.", .usage)
            }
        }
        if let surplus = rest.first {
            let remedy = Arguments.isLocationOption(surplus) ? " It belongs before the domain." : ""
            throw Failure("Unexpected argument \"\(surplus)\"; leaving defaults unchanged.\(remedy)", .usage)
        }
        self = .key(KeyText(text: first, reading: reading), value)
    }

    /// Reads a key and a JSON value, or only a JSON object.
    private init(json operands: ArraySlice<String>, _ reading: KeyText.Reading) throws(Failure) {
        guard let text = operands.last, let first = operands.first, operands.count <= 2 else {
            throw Failure("With --json, give a key and a JSON value, or a JSON object.", .usage)
        }
        let value: PropertyListValue
        do throws(Failure) {
            value = try JSONReader.read(Array(text.utf8), limits: Frame.requestLimits)
        } catch {
            throw Failure("\(error.message) Defaults have not been changed.", error.status)
        }
        if operands.count == 2 {
            self = .key(KeyText(text: first, reading: reading), .set(value))
        } else if case .dictionary(let values) = value {
            self = .all(values)
        } else {
            throw Failure("The JSON value is not an object. Give a key before it, or '{\"key\": value}'.", .usage)
        }
    }

    /// Rejects an option in place of the key: it is far more likely a mistake than a key of that name.
    private static func checkKey(_ key: String?) throws(Failure) {
        guard let key else { return }
        let remedy: String
        if Arguments.isLocationOption(key) {
            remedy = "\(key) belongs before the domain"
        } else if TypedValue.options.contains(key) {
            remedy = "The key is missing before \(key)"
        } else {
            return
        }
        throw Failure("\(remedy); leaving defaults unchanged. For a key of that name, put -- before it.", .usage)
    }

    private static func elements(_ rest: inout ArraySlice<String>) throws(Failure) -> [PropertyListValue] {
        var elements: [PropertyListValue] = []
        while !rest.isEmpty { elements.append(try TypedValue.parse(&rest)) }
        return elements
    }

    private static func names(_ rest: inout ArraySlice<String>) throws(Failure) -> [String] {
        defer { rest = [] }
        return Array(rest)
    }

    /// Returns the operands with bits in place of their names in a domain's manifest.
    func namingBits(of domain: DomainName?) throws(Failure) -> WriteOperands {
        guard case .key(let key, .bits(let names, let change)) = self else { return self }
        guard let bits = try DomainManifest.required(domain).manifest.key(named: key.text), bits.isBitField else {
            throw Failure(
                "The manifest of \(domain?.description ?? "") doesn't describe \"\(key.text)\" as flags; leaving "
                    + "defaults unchanged.", .usage)
        }
        var sum: Int64 = 0
        for name in names {
            guard let choice = bits.choices.first(where: { ($0.title ?? $0.value.shortText) == name }),
                case .integer(let bit) = choice.value
            else {
                let known = bits.choices.map { $0.title ?? $0.value.shortText }
                throw Failure(
                    "\"\(name)\" is not a flag of \"\(key.text)\"; leaving defaults unchanged. The flags are "
                        + "\(known.joined(separator: ", ")).", .usage)
            }
            sum |= bit
        }
        return .key(KeyText(text: key.text, reading: .literal), .sum(sum, change, default: bits.defaultValue))
    }

    private static func entries(_ rest: inout ArraySlice<String>) throws(Failure) -> DomainValues {
        var entries: DomainValues = [:]
        while !rest.isEmpty {
            guard case .string(let key) = try TypedValue.parse(&rest) else {
                throw Failure("The keys of a dictionary must be strings; nothing is written.", .usage)
            }
            guard !rest.isEmpty else { throw Failure("Key \"\(key)\" lacks a corresponding value.", .usage) }
            entries[key] = try TypedValue.parse(&rest)
        }
        return entries
    }
}

/// The change that `write` makes to a key's value.
package enum NewValue: Hashable {
    case set(PropertyListValue)
    /// Appends elements to an array (`-array-add`).
    case append([PropertyListValue])
    /// Merges entries into a dictionary (`-dict-add`).
    case merge(DomainValues)
    /// Sets, adds or removes flags, given by their names in the manifest (`-flag`).
    case bits([String], BitChange)
    /// Sets, adds or removes the bits of a number, which is the default if the key has no value.
    case sum(Int64, BitChange, default: PropertyListValue?)

    /// A change to the bits of a number.
    package enum BitChange: Hashable { case set, add, remove }

    /// Returns the new value, given the old one.
    package func applied(to old: PropertyListValue?, _ key: String, of location: DomainLocation) throws(Failure)
        -> PropertyListValue
    {
        switch (self, old) {
        case (.set(let value), _): return value
        case (.append(let added), nil): return .array(added)
        case (.append(let added), .array(let elements)?): return .array(elements + added)
        case (.merge(let added), nil): return .dictionary(added)
        case (.merge(let added), .dictionary(let entries)?): return .dictionary(entries.merging(added) { $1 })
        case (.sum(let bits, .set, _), _): return .integer(bits)
        case (.sum(let bits, let change, let standard), let old):
            guard case .integer(let number) = old ?? standard ?? 0 else {
                throw Self.mismatch(old ?? 0, of: key, in: location, wanting: "a whole number", replacing: "-flag")
            }
            return .integer(change == .add ? number | bits : number & ~bits)
        // The names have been replaced.
        case (.bits, _): throw Failure("Flags need a manifest; leaving defaults unchanged.", .usage)
        case (.append, let old?):
            throw Self.mismatch(old, of: key, in: location, wanting: "an array", replacing: "-array")
        case (.merge, let old?):
            throw Self.mismatch(old, of: key, in: location, wanting: "a dictionary", replacing: "-dict")
        }
    }

    private static func mismatch(
        _ old: PropertyListValue, of key: String, in location: DomainLocation, wanting wanted: String,
        replacing option: String
    ) -> Failure {
        Failure(
            "The value of \"\(key)\" in \(location.name) is of type \(old.typeName), not \(wanted), so nothing can be "
                + "added; leaving defaults unchanged. Use \(option) to replace it.", .dataError)
    }
}
