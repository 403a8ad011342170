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
    /// holds a lock, the same for all instances, until it ends: don't wait for another thread during it, and don't pass
    /// the value as `inout` to an asynchronous function. Observation doesn't track reads.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get { key.read(propertyListValue(forKey: key.name), in: self) }
        set {
            do throws(UnstorableValue) {
                edit([key.name: try Self.storable(newValue)])
            } catch {
                Self.report(DefaultsProblem(error, forKey: key.name))
            }
        }
        _modify {
            ModificationLock.shared.lock()
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            // This runs even if the change throws.
            defer {
                let outcome = Result { () throws(UnstorableValue) in edit([key.name: try Self.storable(value)]) }
                ModificationLock.shared.unlock()
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
        ModificationLock.shared.withLock {
            dictionaryRepresentation().compactMapValues { PropertyListValue(foundation: $0) }
        }
    }

    /// Returns the values of some keys, with no change by this module in between.
    func values(forKeys keys: [String]) -> [PropertyListValue?] {
        ModificationLock.shared.withLock { keys.map { propertyListValue(forKey: $0) } }
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
        publishEdit()
    }

    /// Sets and removes keys; each value is one that `storable(_:)` returned.
    func edit(_ values: [String: PropertyListValue?]) {
        ModificationLock.shared.withLock {
            for (key, value) in values {
                if let value {
                    set(value.anyValue, forKey: key)
                } else {
                    removeObject(forKey: key)
                }
            }
            publishEdit()
        }
    }

    /// Converts a new value; `nil` if the key is to be removed.
    static func storable(_ value: some PropertyListConvertible) throws(UnstorableValue) -> PropertyListValue? {
        let stored = try PropertyListValue.stored(value)
        if let stored, stored.holdsObjectNumber { throw .objectNumber }
        return stored
    }

    /// Posts the notification that Apple's Foundation posts by itself after each edit.
    ///
    /// Foundation on Linux posts it only for whole domains.
    private func publishEdit() {
        #if !canImport(ObjectiveC)
        NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: self)
        #endif
    }

    /// The name of the domain that edits go to, for a problem's description; Foundation doesn't reveal it.
    var domainName: String? { nil }

    /// Returns a key's name for a problem's description.
    package func describe(_ key: String, having value: PropertyListValue) -> String { "\"\(key)\"" }
}

/// The lock for changes based on the current value, the same for all instances.
///
/// It is recursive, since Foundation posts its notification during an edit, and an observer may make another. It is
/// taken before any of Foundation's locks.
enum ModificationLock {
    static let shared = NSRecursiveLock()
}
#endif
