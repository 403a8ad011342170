#if OVER_FOUNDATION
public import Foundation
public import PropertyList

// On Apple's systems, Foundation's class is this module's `UserDefaults`. This folder adds typed keys and streams.
extension UserDefaults {
    /// A typed key's value; setting it sets the key in the application's or the suite's domain.
    ///
    /// A key that isn't set in any domain reads as its default. So does a key whose value can't be read as its type;
    /// that value is left as it is, and reported once to the handler of `setProblemHandler(_:)`. Setting an `Optional`
    /// key to `nil` removes it.
    ///
    /// `+=` and other in-place changes are atomic among the threads of this process that change the key in place, with
    /// `update(_:_:)`, or in a transaction. Another process may still change the value in between. An in-place change
    /// holds a lock, the same for all instances, until it ends. Don't wait for another thread during it, and don't pass
    /// the value as `inout` to an asynchronous function. Observation doesn't track reads.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get { owner(of: key.domain)[own: key] }
        set { owner(of: key.domain)[own: key] = newValue }
        _modify { yield &owner(of: key.domain)[own: key] }
    }

    /// The value of a key of this instance's domain.
    private subscript<Value>(own key: DefaultsKey<Value>) -> Value {
        get { key.read(propertyListValue(forKey: key.name), in: self) }
        set {
            do throws(UnstorableValue) {
                edit([key.name: try Self.storable(newValue, for: key)])
            } catch {
                Self.report(DefaultsProblem(error, forKey: key.name))
            }
        }
        _modify {
            ModificationLock.lock()
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            // This runs even if the change throws.
            defer {
                let outcome = Result { () throws(UnstorableValue) in
                    edit([key.name: try Self.storable(value, for: key)])
                }
                ModificationLock.unlock()
                // Handlers may run any code, so call them without the lock.
                key.check(stored, in: self)
                if case .failure(let error) = outcome { Self.report(DefaultsProblem(error, forKey: key.name)) }
            }
            yield &value
        }
    }

    /// Returns a key's value as the search finds it.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` when no domain of the search list has the key.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        object(forKey: key).flatMap { PropertyListValue(foundation: $0) }
    }

    /// Returns all keys that the search finds, with their values.
    public func values() -> [String: PropertyListValue] {
        ModificationLock.withLock {
            dictionaryRepresentation().compactMapValues { PropertyListValue(foundation: $0) }
        }
    }

    /// Returns the values of some keys, with no change by this module in between.
    func values(forKeys keys: [String]) -> [PropertyListValue?] {
        if keys.count == 1 { return [propertyListValue(forKey: keys[0])] }
        return ModificationLock.withLock { keys.map { propertyListValue(forKey: $0) } }
    }

    /// Sets a key to a property list value, which Foundation's own `set(_:forKey:)` doesn't accept.
    ///
    /// An archive's object number, at any depth, is reported to the handler of `setProblemHandler(_:)`, and nothing is
    /// set.
    public func set(_ value: PropertyListValue, forKey key: String) {
        do throws(UnstorableValue) {
            edit([key: try Self.storable(value)])
        } catch {
            Self.report(DefaultsProblem(error, forKey: key))
        }
    }

    /// Registers stored values of keys.
    func register(stored values: [String: PropertyListValue]) {
        let unstorable = values.filter(\.value.holdsObjectNumber)
        for key in unstorable.keys.sorted() { Self.report(DefaultsProblem(UnstorableValue.objectNumber, forKey: key)) }
        register(defaults: values.filter { unstorable[$0.key] == nil }.mapValues(\.anyValue))
        ModificationLock.withLock { ModificationLock.publishEdit(of: self) }
    }

    /// Sets and removes keys; each value is one that `storable(_:)` returned.
    func edit(_ values: [String: PropertyListValue?]) {
        #if canImport(ObjectiveC)
        // Foundation posts its notification within each edit. Another thread that holds the lock may wait for an
        // observer, and an observer for this thread.
        if values.count == 1, let (key, value) = values.first { return store(value, forKey: key) }
        #endif
        ModificationLock.withLock {
            for (key, value) in values { store(value, forKey: key) }
            ModificationLock.publishEdit(of: self)
        }
    }

    private func store(_ value: PropertyListValue?, forKey key: String) {
        if let value {
            set(value.anyValue, forKey: key)
        } else {
            removeObject(forKey: key)
        }
    }

    /// Converts a new value; `nil` if the key is to be removed.
    static func storable(_ value: some PropertyListConvertible) throws(UnstorableValue) -> PropertyListValue? {
        try checked(try PropertyListValue.stored(value))
    }

    /// Converts a new value of a typed key; `nil` if the key is to be removed.
    static func storable<Value>(
        _ value: Value, for key: DefaultsKey<Value>
    ) throws(UnstorableValue) -> PropertyListValue? {
        try checked(try key.stored(value))
    }

    private static func checked(_ stored: PropertyListValue?) throws(UnstorableValue) -> PropertyListValue? {
        if let stored, stored.holdsObjectNumber { throw .objectNumber }
        return stored
    }

    /// The name of the domain that edits go to, for a problem's description; Foundation doesn't reveal it.
    var domainName: String? { nil }

    /// Returns a key's name for a problem's description.
    package func describe(_ key: String, having value: PropertyListValue) -> String { "\"\(key)\"" }
}

/// The lock for changes based on the current value, the same for all instances.
///
/// It is recursive, since an observer may make another edit. It is taken before any of Foundation's locks.
enum ModificationLock {
    private static let recursive = NSRecursiveLock()
    /// The number of times that the holder has acquired the lock; guarded by `recursive`.
    nonisolated(unsafe) private static var depth = 0
    /// The instances that have been edited, once for each edit; guarded by `recursive`.
    nonisolated(unsafe) private static var edited: [UserDefaults] = []

    static func lock() {
        recursive.lock()
        depth += 1
    }

    /// Releases the lock, and posts the notifications of edits once the thread doesn't hold it anymore.
    ///
    /// An observer may have to wait for another thread, which may need the lock.
    static func unlock() {
        depth -= 1
        let published = depth == 0 ? edited : []
        if depth == 0 { edited = [] }
        recursive.unlock()
        for defaults in published {
            NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults)
        }
    }

    static func withLock<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Posts, when the lock is free, the notification that Apple's Foundation posts by itself within each edit.
    ///
    /// Foundation on Linux posts it only for whole domains. Call this with the lock held.
    static func publishEdit(of defaults: UserDefaults) {
        #if !canImport(ObjectiveC)
        edited.append(defaults)
        #endif
    }
}
#endif
