import PropertyList

extension UserDefaults {
    /// Registers the defaults of keys, so that untyped reads and other libraries find them too.
    ///
    /// Each default is evaluated once, by this call; typed reads continue to evaluate the key's own default. A default
    /// that is `nil` isn't registered, and a default that can't be stored is reported to the handler of
    /// `setProblemHandler(_:)`. The values belong to the process, as with `register(defaults:)`.
    ///
    /// ```swift
    /// defaults.register(.quality, .theme)
    /// defaults.double(forKey: "quality")  // 0.8
    /// ```
    public func register<each Value>(_ key: repeat DefaultsKey<each Value>) {
        var keys: [AnyDefaultsKey] = []
        for key in repeat each key { keys.append(AnyDefaultsKey(key)) }
        register(keys)
    }

    /// Registers the defaults of keys of different types, so that untyped reads and other libraries find them too.
    ///
    /// A default that is `nil` isn't registered, and a default that can't be stored is reported to the handler of
    /// `setProblemHandler(_:)`. So is a key of another domain: registered defaults apply to all domains.
    public func register(_ keys: some Sequence<AnyDefaultsKey>) {
        var values: [String: PropertyListValue] = [:]
        let keys = Array(keys)
        let owns = ownership(of: keys.map { (name: $0.name, domain: $0.domain) })
        for (key, owns) in zip(keys, owns) where owns {
            do throws(UnstorableValue) {
                values[key.name] = try key.storedDefault()
            } catch {
                Self.report(DefaultsProblem(error, forKey: key.name))
            }
        }
        register(stored: values)
    }

    /// Removes keys of different types from the application's or the suite's domain, as one change set.
    ///
    /// Each key then reads as its default, unless another domain of the search list has it. Keys that have a domain of
    /// their own are removed there, as one change set for each domain.
    public func reset(_ keys: some Sequence<AnyDefaultsKey>) {
        for (domain, keys) in Dictionary(grouping: keys, by: \.domain) {
            var values: [String: PropertyListValue?] = [:]
            for key in keys { values[key.name] = .some(nil) }
            owner(of: domain).edit(values)
        }
    }

    /// Removes keys from the application's or the suite's domain, as one change set.
    ///
    /// Each key then reads as its default, unless another domain of the search list has it. Keys that have a domain of
    /// their own are removed there, as one change set for each domain.
    public func reset<each Value>(_ key: repeat DefaultsKey<each Value>) {
        var keys: [AnyDefaultsKey] = []
        for key in repeat each key { keys.append(AnyDefaultsKey(key)) }
        reset(keys)
    }
}
