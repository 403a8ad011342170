import Observation

/// What stands for one key of a search list with Observation: who reads the key reads this, and a change of the key is a
/// change of this.
final class TrackedKey: Observable, Sendable {
    private let registrar = ObservationRegistrar()
    private var value: Void { () }

    /// Notes that the key is read.
    func access() { registrar.access(self, keyPath: \.value) }

    /// Tells that the key has changed.
    ///
    /// It has changed already: who reads it when told that it will finds the new value, and is not left with the old one.
    func change() { registrar.withMutation(of: self, keyPath: \.value) {} }
}
