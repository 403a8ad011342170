/// An iteration's place among those who are told of changes, for as long as it lives.
final class ObservedKeys: Sendable {
    let wakeUp = WakeUp()
    private let defaults: UserDefaults
    private let controller: UserDefaultsController?

    /// Observes changes of some keys, or of all with `nil`, in the defaults and in a controller; `recorder` receives each change in
    /// the defaults.
    init(
        _ defaults: UserDefaults, _ keys: Set<String>?, _ controller: UserDefaultsController? = nil,
        recordingIn recorder: PendingChanges? = nil
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
