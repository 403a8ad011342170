/// Instances are equal when they are the same one, as with Foundation's class: those of one name share their values, but
/// each has suites of its own.
extension UserDefaults: Hashable {
    /// Whether both are one instance.
    public static func == (first: UserDefaults, second: UserDefaults) -> Bool { first === second }

    /// Feeds the instance's identity to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
