import DefaultsCore
public import PropertyList

extension UserDefaults {
    /// Makes preferences that are in no file, and that nobody else sees: for tests and previews.
    ///
    /// They have no arguments, and domains of their own.
    ///
    /// ```swift
    /// let defaults = UserDefaults(inMemory: ["quality": 0.5])
    /// ```
    ///
    /// - Parameter values: what is set in the beginning.
    public convenience init(inMemory values: [String: PropertyListValue]) {
        let name = ApplicationIdentifier.name
        self.init(LiveDomains(inMemory: [Domain(name): values]), name)
    }
}
