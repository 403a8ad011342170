#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
import PropertyList

extension UserDefaults {
    /// The key of the names of the steps that have been taken, in the domain that they change.
    private static let stepsKey = "DefaultsMigrations"

    /// Takes a step that converts the preferences of earlier versions of the program, once for the domain.
    ///
    /// ```swift
    /// try defaults.migrate(once: "quality is a fraction") { values in
    ///     if let percent = values.propertyListValue(forKey: "percent") { … }
    /// }
    /// ```
    ///
    /// The step's name becomes an element of the array `DefaultsMigrations` in the application's or the suite's domain,
    /// in the same change set as the body's edits. So the step is taken as a whole or not at all, even if the process
    /// is killed, and by only one of several processes that start at the same time. Once it has been taken, the call
    /// returns without waiting.
    ///
    /// A damaged file is left for repair: the call throws until the file can be read. The step is also taken in a
    /// domain without values, for example when the program is first started or after `resetAll()`. An enforced manifest
    /// must describe `DefaultsMigrations` as an array.
    ///
    /// - Parameters:
    ///   - step: The step's name, which must be unique among the domain's steps, and never change.
    ///   - body: A closure that sets and removes values. It may run several times. If it throws, nothing is changed.
    /// - Returns: Whether this call has taken the step.
    /// - Throws: The body's error; or a `DefaultsProblem`, as `store(_:)` does. The next call tries again.
    @discardableResult
    public func migrate(once step: String, _ body: (inout DefaultsTransaction) throws -> Void) throws -> Bool {
        if try steps(client.currentValues(of: domain)[Self.stepsKey]).contains(.string(step)) { return false }
        try checkDamage()
        return try store { values in
            let steps = try steps(values.ownValue(forKey: Self.stepsKey))
            if steps.contains(.string(step)) { return false }
            try body(&values)
            values.set(.array(steps + [.string(step)]), forKey: Self.stepsKey)
            return true
        }
    }

    /// Sets a key to the value of its former name, if it has none yet, once.
    ///
    /// ```swift
    /// try defaults.migrate("size", to: .fontSize)
    /// try defaults.migrate("theme", of: "org.example.oldEditor", to: .theme)
    /// ```
    ///
    /// Call it when the program starts, before the key is used. The former name has its value for as long as no step
    /// removes it, since earlier versions of the program may still be in use. Values that they set later aren't copied.
    ///
    /// This is a step as those of `migrate(once:_:)`, and has been taken as soon as the key or its former name has a
    /// value. Values of other domains in the search list, and registered ones, don't count.
    ///
    /// - Parameters:
    ///   - former: The key's former name.
    ///   - formerDomain: The name of the domain that has the former name; `nil` for the key's own.
    ///   - key: The key.
    /// - Returns: Whether this call has set the key.
    /// - Throws: A `DefaultsProblem` if the value doesn't have the key's type, isn't in its range, or is refused. The
    ///   next call tries again.
    @discardableResult
    public func migrate<Value>(
        _ former: String, of formerDomain: String? = nil, to key: DefaultsKey<Value>
    ) throws -> Bool {
        let owner = owner(of: key.domain)
        guard owner === self else { return try owner.migrate(former, of: formerDomain, to: key) }
        let source = self.owner(of: formerDomain)
        if let formerDomain, source === self, Self.name(ofDomain: formerDomain) != domainName {
            throw DefaultsProblem(.name, describedBy: "\"\(formerDomain)\" can't be the name of a domain.")
        }
        try source.checkDamage()
        func formerValue() -> PropertyListValue? { source.client.currentValues(of: source.domain)[former] }
        // An earlier version of the program may be started later, and set the former name.
        if formerValue() == nil, client.currentValues(of: domain)[key.name] == nil { return false }
        var isSet = false
        let isTaken = try migrate(once: "\(former) of \(source.domainName ?? "") to \(key.name)") { values in
            isSet = false
            guard values.ownValue(forKey: key.name) == nil,
                let stored = source === self ? values.ownValue(forKey: former) : formerValue()
            else { return }
            guard let value = key.convert(stored) else {
                throw DefaultsProblem(
                    .type,
                    describedBy: "\(source.describe(former, having: stored)) is \(stored.kind) that can't be read as "
                        + "\(Value.self), so \"\(key.name)\" isn't set to it. Set \"\(former)\" again, or remove it.")
            }
            values[key] = value
            isSet = true
        }
        // Another process may have taken the step after this one's attempt.
        return isTaken && isSet
    }

    /// Throws if the domain's file is damaged, since a step would take its values for missing and replace it.
    private func checkDamage() throws(DefaultsProblem) {
        if let damage = client.damage(of: domain) { throw DefaultsProblem(.file, because: damage) }
    }

    /// Returns the elements of the array of steps.
    private func steps(_ stored: PropertyListValue?) throws(DefaultsProblem) -> [PropertyListValue] {
        switch stored {
        case nil: return []
        case .array(let steps)?: return steps
        case let other?:
            throw DefaultsProblem(
                .type,
                describedBy: "\(describe(Self.stepsKey, having: other)) is \(other.kind) instead of an array, so it "
                    + "isn't known which steps have been taken. Restore it, or remove it to take all steps again.")
        }
    }
}
#endif
