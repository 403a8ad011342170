import Synchronization

/// Whether an edit will tell: Observation tells once, and before the property is set.
final class PropertyTracking: Sendable {
    private let wakeUp: WakeUp
    private let isArmed = Atomic(false)

    init(_ wakeUp: WakeUp) {
        self.wakeUp = wakeUp
    }

    /// Whether it must be tracked anew.
    func arm() -> Bool { !isArmed.exchange(true, ordering: .acquiringAndReleasing) }

    func fire() {
        isArmed.store(false, ordering: .releasing)
        wakeUp.fill()
    }
}
