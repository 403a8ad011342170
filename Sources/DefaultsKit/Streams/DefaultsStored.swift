/// A property wrapper that reads and sets a key of the preferences.
///
/// ```swift
/// struct Settings {
///     @DefaultsStored("retries") var retries = 3
///     @DefaultsStored(.theme) var theme
/// }
/// let settings = Settings()
/// settings.retries += 1
/// for await retries in settings.$retries.updates { … }
/// ```
///
/// Reads and edits are those of `UserDefaults`' subscript for typed keys: any thread may make them, and Observation
/// tracks reads.
@propertyWrapper
public struct DefaultsStored<Value: DefaultsValue>: Sendable {
    /// The key that the property reads and sets.
    public let key: DefaultsKey<Value>
    #if OVER_FOUNDATION
    // Foundation's class isn't declared Sendable on all systems, but is guarded by locks of its own.
    nonisolated(unsafe) private let store: UserDefaults?
    #else
    private let store: UserDefaults?
    #endif

    private var defaults: UserDefaults { store ?? .standard }

    /// Creates a property for a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - store: The preferences that have the key; `nil` for `UserDefaults.standard`.
    public init(_ key: DefaultsKey<Value>, store: UserDefaults? = nil) {
        self.key = key
        self.store = store
    }

    /// Creates a property for a key, given its name and, as the property's initial value, its default.
    ///
    /// - Parameters:
    ///   - wrappedValue: The key's default.
    ///   - name: The key's name.
    ///   - store: The preferences that have the key; `nil` for `UserDefaults.standard`.
    public init(
        wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, store: UserDefaults? = nil
    ) {
        self.init(DefaultsKey(name, default: wrappedValue()), store: store)
    }

    /// Creates a property for a key that reads as `nil` when it isn't set, given its name.
    ///
    /// ```swift
    /// @DefaultsStored("name") var name: String?
    /// ```
    ///
    /// - Parameters:
    ///   - name: The key's name.
    ///   - store: The preferences that have the key; `nil` for `UserDefaults.standard`.
    public init<Wrapped>(_ name: String, store: UserDefaults? = nil) where Value == Wrapped? {
        self.init(DefaultsKey(name), store: store)
    }

    /// The key's value.
    public var wrappedValue: Value {
        get { defaults[key] }
        nonmutating set { defaults[key] = newValue }
        nonmutating _modify { yield &defaults[key] }
    }

    /// The wrapper itself, which offers `updates` and `reset()`.
    public var projectedValue: DefaultsStored { self }

    /// A stream of the key's value: the current one immediately, then each change.
    public var updates: DefaultsUpdates<Value> { defaults.updates(of: key) }

    /// Removes the key from the application's or the suite's domain.
    public func reset() { defaults.reset(key) }
}
