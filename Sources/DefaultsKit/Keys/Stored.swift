/// A property that is a key of the user's defaults.
///
/// ```swift
/// struct Settings {
///     @Stored("retries") var retries = 3
///     @Stored(.theme) var theme
/// }
/// let settings = Settings()
/// settings.retries += 1
/// for await retries in settings.$retries.updates { … }
/// ```
///
/// Reading and setting are those of `UserDefaults`' subscript; any thread may do either.
@propertyWrapper
public struct Stored<Value: DefaultsValue>: Sendable {
    /// The key.
    public let key: DefaultsKey<Value>
    private let store: UserDefaults

    /// Stands for a key.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - store: where it is.
    public init(_ key: DefaultsKey<Value>, store: UserDefaults = .standard) {
        self.key = key
        self.store = store
    }

    /// Stands for a key by its name.
    ///
    /// - Parameters:
    ///   - wrappedValue: the key's default.
    ///   - name: the key's name.
    ///   - store: where it is.
    public init(
        wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, store: UserDefaults = .standard
    ) {
        self.init(DefaultsKey(name, default: wrappedValue()), store: store)
    }

    /// The key's value.
    public var wrappedValue: Value {
        get { store[key] }
        nonmutating set { store[key] = newValue }
        nonmutating _modify { yield &store[key] }
    }

    /// The wrapper itself, which can be followed and reset.
    public var projectedValue: Stored { self }

    /// The value now, and each time it changes.
    public var updates: DefaultsUpdates<Value> { store.updates(of: key) }

    /// Removes the key.
    public func reset() { store.reset(key) }
}
