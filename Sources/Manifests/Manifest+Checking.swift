package import PropertyList

extension Manifest {
    /// Returns what breaks the manifest: in the values of keys, and in keys that depend on theirs.
    ///
    /// Takes microseconds for a key. A key that is missing breaks nothing unless it is required.
    ///
    /// - Parameters:
    ///   - keys: The keys that have changed, or all.
    ///   - values: The values of the domain.
    ///   - rules: The rules that are looked at.
    ///   - work: The number of steps for all keys; each gets at least 5,000.
    /// - Returns: The violations, in order.
    package func violations(
        of keys: some Sequence<String>, in values: [String: PropertyListValue],
        limitedTo rules: Set<Violation.Rule> = Set(Violation.Rule.allCases), within work: Int = 1_000_000
    ) -> [Violation] {
        let keys = Set(keys)
        var check = ManifestCheck(domain: .dictionary(values), rules: rules, work: work)
        for name in keys.sorted() {
            check.begin(name)
            let key = key(named: name)
            guard let value = values[name] else {
                if key?.isRequired == true { check.report(.required) }
                continue
            }
            if let freeKey, key == nil || key?.name == ManifestKey.freeValue { check.check(.string(name), freeKey) }
            guard let key else {
                if freeKey == nil { check.report(.unknown) }
                continue
            }
            check.check(value, key)
        }
        for position in conditionalPositions(of: keys) {
            let key = root.subkeys[position]
            check.begin(key.name)
            check.checkConditions(of: key, isPresent: values[key.name] != nil)
        }
        return check.violations
    }

    /// Returns what a change breaks, without what was broken before inside values of which that part stays.
    ///
    /// - Parameters:
    ///   - keys: The keys that change.
    ///   - old: The values before, at least of these keys.
    ///   - new: The values afterwards.
    ///   - rules: The rules that are looked at.
    /// - Returns: The violations, in order.
    package func violations(
        of keys: Set<String>, from old: [String: PropertyListValue], to new: [String: PropertyListValue],
        limitedTo rules: Set<Violation.Rule> = Set(Violation.Rule.allCases)
    ) -> [Violation] {
        let found = violations(of: keys, in: new, limitedTo: rules)
        // A violation beyond the first hundred, or in a value too large to be checked, may be new.
        if found.isEmpty || found.count >= ManifestCheck.limit || found.contains(where: { $0.rule == .size }) {
            return found
        }
        let known = Set(violations(of: keys, in: old, limitedTo: rules))
        return found.filter { !known.contains($0) || $0.value(in: old) != $0.value(in: new) }
    }
}

extension Violation {
    /// Returns the value that breaks the rule; `nil` if it is missing.
    fileprivate func value(in values: [String: PropertyListValue]) -> PropertyListValue? {
        path.reduce(values[key]) { value, step in
            switch (step, value) {
            case (.name(let name), .dictionary(let entries)): entries[name]
            case (.index(let index), .array(let elements)): elements.indices.contains(index) ? elements[index] : nil
            default: nil
            }
        }
    }
}

extension ManifestKey {
    /// Returns the keys of the domain that the key's own conditions look at.
    ///
    /// - Parameter depth: The number of containers around the key inside the domain.
    /// - Returns: The names.
    func conditionTargets(at depth: Int) -> Set<String> {
        let routes = (exclusions + requirements.joined()).compactMap(\.route)
        return Set(routes.compactMap { $0.levels == depth ? $0.names.first : nil })
    }

    /// Returns whether a condition of the key, or inside it, is about a key of the domain.
    func looksOutside(at depth: Int) -> Bool {
        !conditionTargets(at: depth).isEmpty || subkeys.contains { $0.looksOutside(at: depth + 1) }
    }
}

/// A check of values.
private struct ManifestCheck {
    /// The containers around the value, the domain first.
    private var containers: [PropertyListValue]
    /// The key that is checked.
    private var key = ""
    private var path: [Violation.Step] = []
    private(set) var violations: [Violation] = []
    /// The maximum number of violations of one check; a value can have a million elements.
    static let limit = 100

    private let rules: Set<Violation.Rule>
    /// The steps that are left for formats, lists and conditions.
    private var work: Int
    /// The steps that each key gets, however much the others have needed.
    private static let share = 5_000
    /// The number of steps of the path to the first sensitive container, whose contents must not be named.
    private var secretDepth: Int?

    init(domain: PropertyListValue, rules: Set<Violation.Rule>, work: Int) {
        containers = [domain]
        (self.rules, self.work) = (rules, work)
    }

    /// Begins with a key of the domain.
    mutating func begin(_ key: String) { (self.key, work) = (key, max(Self.share, work)) }

    /// Spends steps of the budget; when it runs out, reports the value once, and returns false from then on.
    private mutating func spend(_ steps: Int) -> Bool {
        let wasLeft = work > 0
        work -= steps
        if work <= 0, wasLeft { report(.size) }
        return work > 0
    }

    mutating func report(_ rule: Violation.Rule, _ limit: PropertyListValue? = nil) {
        guard violations.count < Self.limit, rules.contains(rule) else { return }
        let shown = path.prefix(secretDepth ?? path.count)
        violations.append(Violation(key: key, path: Array(shown), rule: rule, limit: limit))
    }

    /// Checks a value and its contents.
    mutating func check(_ value: PropertyListValue, _ spec: ManifestKey) {
        let formerDepth = secretDepth
        if spec.isSensitive, formerDepth == nil { secretDepth = path.count }
        defer { secretDepth = formerDepth }
        guard spec.kind?.includes(value) != false else {
            report(.type, .string(spec.kind?.rawValue ?? ""))
            return
        }
        checkBounds(of: value, spec)
        if !spec.choices.isEmpty, !spec.allowsOtherValues { checkChoice(value, spec) }
        if case .string(let text) = value, let format = spec.format, spend(1), !format.matches(text, within: &work) {
            if work > 0 { report(.format, .string(format.pattern)) } else { report(.size) }
        }
        switch value {
        case .array(let elements):
            containers.append(value)
            for (index, element) in elements.enumerated() {
                guard violations.count < Self.limit, let key = spec.element(at: index) else { break }
                path.append(.index(index))
                check(element, key)
                path.removeLast()
            }
            containers.removeLast()
        case .dictionary(let entries) where !spec.subkeys.isEmpty: checkEntries(entries, of: value, spec)
        default: break
        }
    }

    /// Checks that a value is among the choices, or of an array, each element.
    private mutating func checkChoice(_ value: PropertyListValue, _ spec: ManifestKey) {
        let elements = if case .array(let elements) = value { elements } else { [value] }
        guard spend(elements.count * spec.choices.count), !elements.allSatisfy(spec.isChoice) else { return }
        let isShort =
            spec.choices.count <= Self.shownChoices
            && spec.choices.reduce(0) { $0 + $1.value.shortText.utf8.count } < Self.shownBytes
        let limit = isShort ? PropertyListValue.array(spec.choices.map(\.value)) : nil
        report(spec.isBitField ? .flags : .choice, limit)
    }

    /// The number of choices up to which a violation lists them.
    private static let shownChoices = 20
    /// The size up to which they are listed.
    private static let shownBytes = 4_096

    private mutating func checkEntries(
        _ entries: [String: PropertyListValue], of value: PropertyListValue, _ spec: ManifestKey
    ) {
        guard spend(spec.subkeys.count + 1) else { return }
        containers.append(value)
        defer { containers.removeLast() }
        let formerDepth = secretDepth
        defer { secretDepth = formerDepth }
        let names = spec.subkeys.first { $0.name == ManifestKey.freeKey }
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
            guard violations.count < Self.limit else { return }
            secretDepth = formerDepth ?? (names?.isSensitive == true ? path.count : nil)
            path.append(.name(name))
            defer { path.removeLast() }
            let key = spend(spec.subkeys.count) ? spec.subkey(named: name) : nil
            if work <= 0 { return }
            if let names, key == nil || key?.name == ManifestKey.freeValue { check(.string(name), names) }
            if let key { check(entry, key) } else if !spec.allowsAnyKey { report(.unknown) }
        }
        secretDepth = formerDepth
        for key in spec.fixedSubkeys {
            path.append(.name(key.name))
            defer { path.removeLast() }
            if key.isRequired, entries[key.name] == nil { report(.required) }
            if key.hasConditions { checkConditions(of: key, isPresent: entries[key.name] != nil) }
        }
    }

    /// Checks whether the conditions of the key at the present path make it required, or without effect.
    mutating func checkConditions(of spec: ManifestKey, isPresent: Bool) {
        if work <= 0 { return }
        var left = work
        defer {
            work = left
            if left <= 0 { report(.size) }
        }
        func holds(_ condition: Condition) -> Bool { condition.holds(in: containers, within: &left) }
        if isPresent, let condition = spec.exclusions.first(where: holds) {
            report(.excluded, .string(condition.target))
        } else if !isPresent, !spec.isRequired, spec.requirements.contains(where: { $0.allSatisfy(holds) }),
            !spec.exclusions.contains(where: holds), left > 0
        {
            report(.required)
        }
    }

    private mutating func checkBounds(of value: PropertyListValue, _ spec: ManifestKey) {
        if spec.minimum == nil && spec.maximum == nil { return }
        let length: Int? =
            switch value {
            // As a format's `.`, JSON Schema and Python count.
            case .string(let text): text.unicodeScalars.count
            case .data(let bytes): bytes.count
            case .array(let elements): elements.count
            case .dictionary(let entries): entries.count
            default: nil
            }
        let measure = length.map { .integer(Int64($0)) } ?? value
        let isNaN = measure.number?.isNaN == true
        if let minimum = spec.minimum, isNaN || measure.isLess(than: minimum) {
            report(length == nil ? .minimum : .minimumLength, minimum)
        }
        if let maximum = spec.maximum, isNaN || maximum.isLess(than: measure) {
            report(length == nil ? .maximum : .maximumLength, maximum)
        }
    }
}

extension ManifestKey {
    /// Whether a value is one of the choices, or in a bit field, a sum of some of them.
    package func isChoice(_ value: PropertyListValue) -> Bool {
        guard isBitField, case .integer(let number) = value else {
            return choices.contains { $0.value.isSame(as: value) }
        }
        let all = choices.reduce(Int64(0)) { if case .integer(let bits) = $1.value { $0 | bits } else { $0 } }
        return number & ~all == 0
    }
}

extension ManifestKey.Kind {
    /// Returns whether a value is of the type; a whole number is also a real.
    package func includes(_ value: PropertyListValue) -> Bool {
        switch (self, value) {
        case (.string, .string), (.integer, .integer), (.integer, .unsigned), (.real, .real), (.real, .real32),
            (.real, .integer), (.real, .unsigned), (.boolean, .boolean), (.date, .date), (.data, .data),
            (.array, .array), (.dictionary, .dictionary):
            true
        default: false
        }
    }
}

extension PropertyListValue {
    /// Returns whether the value is a number, and less than another; NaN is not.
    package func isLess(than other: PropertyListValue) -> Bool {
        switch (self, other) {
        case (.integer(let one), .integer(let two)): return one < two
        case (.integer, .unsigned): return true
        case (.unsigned, .integer): return false
        case (.unsigned(let one), .unsigned(let two)): return one < two
        default:
            guard let one = number, let two = other.number else { return false }
            return one < two
        }
    }

    /// Returns whether the value equals another, or is the same number in another type.
    func isSame(as other: PropertyListValue) -> Bool {
        if self == other { return true }
        guard !ManifestKey.Kind.integer.includes(self) || !ManifestKey.Kind.integer.includes(other),
            let one = number, let two = other.number
        else { return false }
        return one == two
    }

    /// The value of a number; `nil` for other types.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .real32(let number): Double(number)
        default: nil
        }
    }
}
