import PropertyList

#if OVER_FOUNDATION
import Synchronization
#else
import DefaultsClient
import Linux
#endif

/// The stored values that don't have their keys' types, each reported once.
///
/// A typed read can't throw and returns the default; without a report, the next edit would silently replace the stored
/// value.
enum MistypedValues {
    private struct Reading: Hashable {
        var domain: String?
        var key: String
        var type: ObjectIdentifier
    }

    /// The last value reported for each reading; nothing is called under the lock.
    private static let reported = ForkSafeMutex<[Reading: PropertyListValue]>([:])

    /// The maximum number of readings remembered.
    ///
    /// Additional readings aren't reported, so that a program that generates keys can't exhaust memory.
    private static let capacity = 1_024

    /// Reports a value, unless it was the last one reported for this key, type and domain.
    ///
    /// - Parameters:
    ///   - value: The stored value.
    ///   - key: The key's name.
    ///   - type: The type that the value should have had.
    ///   - defaults: The instance that found the value, if known.
    static func report(
        _ value: PropertyListValue, of key: String, notOf type: any DefaultsValue.Type, in defaults: UserDefaults?
    ) {
        let reading = Reading(
            domain: defaults?.domainName, key: key, type: ObjectIdentifier(type))
        let isNew = reported.withLock { reported in
            let last = reported[reading]
            if last == value || last == nil && reported.count >= capacity { return false }
            reported[reading] = value
            return true
        }
        guard isNew else { return }
        let subject = defaults?.describe(key, having: value) ?? "\"\(key)\""
        ProblemHandler.report(
            DefaultsProblem(
                .type,
                describedBy: "\(subject) is \(value.kind) that can't be read as \(type); the key's default is used. "
                    + "Set the key again, or remove it."))
    }
}

extension DefaultsKey {
    /// Converts a stored value; if it has another type, reports that once, and returns the default.
    package func read(_ value: PropertyListValue?, in defaults: UserDefaults? = nil) -> Value {
        guard let value else { return defaultValue }
        if let read = Value(propertyListValue: value) { return read }
        MistypedValues.report(value, of: name, notOf: Value.self, in: defaults)
        return defaultValue
    }

    /// Converts a stored value without reporting anything.
    func convert(_ value: PropertyListValue?) -> Value? { value.flatMap { Value(propertyListValue: $0) } }

    /// Reports, once, a stored value that has another type.
    func check(_ value: PropertyListValue?, in defaults: UserDefaults) {
        guard let value, Value(propertyListValue: value) == nil else { return }
        MistypedValues.report(value, of: name, notOf: Value.self, in: defaults)
    }
}
