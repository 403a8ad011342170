/// An iteration's place among those who are told of changes, for as long as it lives.
final class ObservedKeys: Sendable {
    let wakeUp = WakeUp()
    private let defaults: UserDefaults
    private let controller: UserDefaultsController?

    /// Is told from now on of changes of some keys, or with `nil` of all, in the defaults and in a controller; each of those in
    /// the defaults is recorded where that is wanted.
    init(
        _ defaults: UserDefaults, _ keys: Set<String>?, _ controller: UserDefaultsController? = nil,
        recordingIn recorder: WaitingChanges? = nil
    ) {
        self.defaults = defaults
        self.controller = controller
        let observation = SearchList.Observation(keys: keys, observer: wakeUp, recorder: recorder)
        defaults.list.add(observation)
        controller?.add(observation)
        defaults.live.beginObserving()
    }

    deinit {
        defaults.list.remove(wakeUp)
        controller?.remove(wakeUp)
    }
}
