import DefaultsCore
package import PropertyList

extension UserDefaults {
    /// Follows a key: its value at once, then each change of the value that the search finds, whoever made it.
    ///
    /// Only the newest is kept for who is slow, and at rest it is the last. It ends when the task is cancelled. Where no
    /// agent runs, changes by others come within a second.
    ///
    /// ```swift
    /// for await quality in defaults.updates(of: .quality) { player.quality = quality }
    /// ```
    public func updates<Value>(of key: DefaultsKey<Value>) -> DefaultsUpdates<Value> {
        DefaultsUpdates(self, keys: [key.name]) { defaults in
            let value = defaults.propertyListValue(forKey: key.name)
            return ([value], key.read(value, in: defaults))
        }
    }

    /// Follows several keys: their values at once, then each time one or more change.
    ///
    /// Values that change together come together, and each element is what was in force at one moment.
    public func updates<First, each Other>(
        of first: DefaultsKey<First>, _ other: repeat DefaultsKey<each Other>
    ) -> DefaultsUpdates<(First, repeat each Other)> {
        var names = [first.name]
        for key in repeat each other { names.append(key.name) }
        return DefaultsUpdates(self, keys: Set(names)) { [names] defaults in
            let raw = defaults.values(forKeys: names)
            var index = 0
            func next() -> PropertyListValue? {
                index += 1
                return raw[index]
            }
            return (raw, (first.read(raw[0], in: defaults), repeat (each other).read(next(), in: defaults)))
        }
    }

    /// Follows all that the search finds: everything at once, then everything each time something changes.
    ///
    /// Each snapshot is what was in force at one moment; only the newest is kept for who is slow.
    public func snapshots() -> DefaultsUpdates<DefaultsSnapshot> {
        DefaultsUpdates(self, keys: nil) { defaults in
            let values = defaults.values()
            return ([.dictionary(values)], DefaultsSnapshot(values: values))
        }
    }

    /// Follows what is found in the values of some keys: at once, then each time it changes.
    package func updates(
        ofKeys keys: [String], _ find: @escaping @Sendable ([String: PropertyListValue]) -> PropertyListValue?
    ) -> DefaultsUpdates<PropertyListValue?> {
        DefaultsUpdates(self, keys: Set(keys)) { defaults in
            let value = find(defaults.entries(forKeys: keys))
            return ([value], value)
        }
    }

    /// Those of some keys that have a value, at one moment.
    package func entries(forKeys keys: [String]) -> [String: PropertyListValue] {
        let found = values(forKeys: keys)
        var values: [String: PropertyListValue] = [:]
        for (key, value) in zip(keys, found) { values[key] = value }
        return values
    }

    /// The values of some keys at one moment.
    func values(forKeys keys: [String]) -> [PropertyListValue?] {
        if live.isStale || !list.hasSearched { live.search(list) }
        return list.find(keys)
    }
}
