import DefaultsCore
import Linux
import PropertyList

/// Stored values that don't have their keys' types, each reported once.
///
/// A typed read can't throw and returns the default; without a report, the next edit would silently replace the stored value.
enum MistypedValues {
    private struct Reading: Hashable {
        var domain: String?
        var key: String
        var type: ObjectIdentifier
    }

    /// The last value reported for each reading; nothing is called under its lock.
    private static let reported = ForkSafeMutex<[Reading: PropertyListValue]>([:])

    /// The most readings remembered; later ones aren't reported, so that a program that generates keys can't exhaust memory.
    private static let capacity = 1_024

    /// Reports a value, unless it was the last one reported for this key, type and domain.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key's name.
    ///   - type: the type that it isn't of.
    ///   - defaults: the instance that found it, where it is known.
    static func report(
        _ value: PropertyListValue, of key: String, notOf type: any DefaultsValue.Type, in defaults: UserDefaults?
    ) {
        let reading = Reading(
            domain: defaults?.domain.name.description, key: key, type: ObjectIdentifier(type))
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
    /// Reads a stored value; one of another type is reported, once, and gives the default.
    func read(_ value: PropertyListValue?, in defaults: UserDefaults? = nil) -> Value {
        guard let value else { return defaultValue }
        if let read = Value(propertyListValue: value) { return read }
        MistypedValues.report(value, of: name, notOf: Value.self, in: defaults)
        return defaultValue
    }

    /// Reads a stored value, and reports nothing.
    func convert(_ value: PropertyListValue?) -> Value? { value.flatMap { Value(propertyListValue: $0) } }

    /// Reports a stored value of another type, once.
    func check(_ value: PropertyListValue?, in defaults: UserDefaults) {
        guard let value, Value(propertyListValue: value) == nil else { return }
        MistypedValues.report(value, of: name, notOf: Value.self, in: defaults)
    }
}
