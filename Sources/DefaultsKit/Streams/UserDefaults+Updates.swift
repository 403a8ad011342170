public import PropertyList

extension UserDefaults {
    /// Returns a stream of a key's value as the search finds it: the current value immediately, then the newest after
    /// each change.
    ///
    /// It reports changes by all processes; without an agent, changes by others arrive within a second. On Apple's
    /// systems, it reports the changes by this process, and those by others only with the next of them. It follows
    /// `didChangeNotification`, which Apple's Foundation posts when this process changes a value. A slow consumer
    /// receives only the newest value, and never misses the last one. The stream ends when its task is canceled.
    ///
    /// ```swift
    /// for await quality in defaults.updates(of: .quality) { player.quality = quality }
    /// ```
    public func updates<Value>(of key: DefaultsKey<Value>) -> DefaultsUpdates<Value> {
        DefaultsUpdates(owner(of: key.domain), keys: [key.name]) { defaults in
            let value = defaults.propertyListValue(forKey: key.name)
            return ([value], key.read(value, in: defaults))
        }
    }

    /// Returns a stream of the values of several keys: the current ones immediately, then new ones when any of them
    /// change.
    ///
    /// Each element holds the values of one moment, so values that change together arrive together. A slow consumer
    /// receives only the newest. The stream ends when its task is canceled.
    public func updates<First, each Other>(
        of first: DefaultsKey<First>, _ other: repeat DefaultsKey<each Other>
    ) -> DefaultsUpdates<(First, repeat each Other)> {
        var keys = [(name: first.name, domain: first.domain)]
        for key in repeat each other { keys.append((key.name, key.domain)) }
        let (owner, owns) = owner(ofAll: keys)
        let names = keys.map(\.name)
        return DefaultsUpdates(owner, keys: Set(names)) { defaults in
            let raw = zip(defaults.values(forKeys: names), owns).map { $1 ? $0 : nil }
            var index = 0
            func next() -> PropertyListValue? {
                index += 1
                return raw[index]
            }
            return (raw, (first.read(raw[0], in: defaults), repeat (each other).read(next(), in: defaults)))
        }
    }

    /// Returns a stream of the values of several keys: the current ones immediately, then new ones when any of them
    /// change.
    ///
    /// Each snapshot holds only these keys, as they were at one moment; any other key reads as its default. A slow
    /// consumer receives only the newest snapshot. The stream ends when its task is canceled.
    public func updates(of keys: some Sequence<AnyDefaultsKey>) -> DefaultsUpdates<DefaultsSnapshot> {
        let keys = keys.map { (name: $0.name, domain: $0.domain) }
        let (owner, owns) = owner(ofAll: keys)
        let names = Set(zip(keys, owns).filter(\.1).map(\.0.name)).sorted()
        return DefaultsUpdates(owner, keys: Set(names)) { defaults in
            let values = defaults.entries(forKeys: names)
            return ([.dictionary(values)], DefaultsSnapshot(values: values, of: defaults.domainName))
        }
    }

    /// Returns a stream of all values that the search finds: the current ones immediately, then new ones after each
    /// change.
    ///
    /// Each snapshot holds the values of one moment. A slow consumer receives only the newest. The stream ends when its
    /// task is canceled.
    public func snapshots() -> DefaultsUpdates<DefaultsSnapshot> {
        DefaultsUpdates(self, keys: nil) { defaults in
            let values = defaults.values()
            return ([.dictionary(values)], DefaultsSnapshot(values: values, of: defaults.domainName))
        }
    }

    /// Returns a stream of a value computed from some keys: the current one immediately, then the newest after each
    /// change.
    package func updates(
        ofKeys keys: [String], _ find: @escaping @Sendable ([String: PropertyListValue]) -> PropertyListValue?
    ) -> DefaultsUpdates<PropertyListValue?> {
        DefaultsUpdates(self, keys: Set(keys)) { defaults in
            let value = find(defaults.entries(forKeys: keys))
            return ([value], value)
        }
    }

    /// Returns the values of some keys at one moment, without the keys that have none.
    package func entries(forKeys keys: [String]) -> [String: PropertyListValue] {
        let found = values(forKeys: keys)
        var values: [String: PropertyListValue] = [:]
        for (key, value) in zip(keys, found) { values[key] = value }
        return values
    }
}

/// The values that a search found at one moment.
public struct DefaultsSnapshot: Hashable, Sendable {
    /// The values by key.
    public let values: [String: PropertyListValue]

    /// The name of the domain that edits go to, if it is known.
    private let domain: String?

    init(values: [String: PropertyListValue], of domain: String?) {
        self.values = values
        self.domain = domain
    }

    /// A typed key's value, or its default.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        if let domain, let other = key.domain, other != domain, UserDefaults.name(ofDomain: other) != domain {
            UserDefaults.report(DefaultsProblem(foreign: key.name, of: other, besides: domain))
            return key.defaultValue
        }
        return key.read(values[key.name])
    }
}
