import DefaultsCore
import PropertyList

/// The stored values that weren't of their keys' types, each reported once.
///
/// A typed read can't throw and gives the key's default; silence would let the next edit replace what is stored.
enum MistypedValues {
    private struct Reading: Hashable {
        var domain: String?
        var key: String
        var type: ObjectIdentifier
    }

    /// What was reported last; nothing is called under its lock.
    private static let reported = ForkSafeMutex<[Reading: PropertyListValue]>([:])

    /// More readings than this aren't remembered, and so not reported: a program that makes up keys mustn't exhaust memory.
    private static let capacity = 1_024

    /// Reports a value, unless the same one was reported for the same reading.
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
}
