/// An iteration's place among those who are told of changes, for as long as it lives.
final class ObservedKeys: Sendable {
    let wakeUp = WakeUp()
    private let defaults: UserDefaults

    /// Is told from now on of changes of some keys, or with `nil` of all.
    init(_ defaults: UserDefaults, _ keys: Set<String>?) {
        self.defaults = defaults
        defaults.list.add(SearchList.Observation(keys: keys, observer: wakeUp))
        defaults.live.beginObserving()
    }

    deinit { defaults.list.remove(wakeUp) }
}
