/// A call of this process that changed preferences, or set what they were anyway.
package struct LocalEdit {
    /// The instance that was called.
    package let defaults: UserDefaults
    /// The domain's name.
    package let domain: String
    /// The keys that the call named.
    package let keys: [String]

    init(defaults: UserDefaults, domain: String, keys: some Sequence<String>) {
        self.defaults = defaults
        self.domain = domain
        self.keys = Array(keys)
    }
}
