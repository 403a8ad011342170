package import DefaultsCore
package import PropertyList

/// A key of a domain, and the path from the key's value to a nested value.
package struct ValuePath {
    package let key: String
    /// Dictionary keys and array indexes, from the outside in; empty for the key's own value.
    let steps: [String]
    /// Whether an edit may create a missing key, with nested dictionaries for the steps.
    let isForced: Bool

    init(key: String, steps: ArraySlice<String> = [], isForced: Bool = false) {
        self.key = key
        self.steps = Array(steps)
        self.isForced = isForced
    }

    /// Returns the value at the end of the path.
    ///
    /// - Parameters:
    ///   - values: The domain's values.
    ///   - location: The domain's location, for messages.
    ///   - consequence: The end of the error message, saying what was not done.
    /// - Returns: The value.
    /// - Throws: If a step doesn't exist, or leads into a value that isn't an array or dictionary.
    package func value(
        in values: DomainValues, of location: DomainLocation, consequence: String = ""
    ) throws(Failure) -> PropertyListValue {
        guard var value = values[key] else {
            throw NotFound.key(key, among: values.keys, of: location, consequence: consequence)
        }
        for depth in steps.indices {
            switch value {
            case .dictionary(let entries):
                guard let entry = entries[steps[depth]] else {
                    let near = Suggestion.question(steps[depth], among: entries.keys)
                    throw failure(
                        at: depth, in: location, saying: "has no key \"\(steps[depth])\"", consequence: consequence,
                        near: near)
                }
                value = entry
            case .array(let elements):
                let index = try index(at: depth, in: elements, of: location, consequence: consequence)
                guard index < elements.count else {
                    throw missingElement(at: depth, among: elements, in: location, consequence: consequence)
                }
                value = elements[index]
            default: throw noContainer(at: depth, but: value, in: location, consequence: consequence)
            }
        }
        return value
    }

    /// Returns an edit that changes the value at the end of the path.
    ///
    /// The edit applies only if the key's value is still the same.
    ///
    /// - Parameters:
    ///   - values: The domain's values.
    ///   - location: The domain's location, for messages.
    ///   - make: Returns the new value, given the old one; `nil` to remove it.
    /// - Returns: The edit of the key.
    /// - Throws: If a step doesn't exist, or leads into a value that isn't an array or dictionary; or the error of
    ///   `make`.
    package func edit(
        in values: DomainValues, of location: DomainLocation,
        _ make: (PropertyListValue?) throws(Failure) -> PropertyListValue?
    ) throws(Failure) -> ConditionalWrite {
        let old = values[key]
        if old == nil, !steps.isEmpty, !isForced {
            let failure = NotFound.key(key, among: values.keys, of: location)
            throw Failure("\(failure.message) To create it, put --key-path before the domain.", failure.status)
        }
        return ConditionalWrite(values: [key: try changed(old, at: 0, in: location, make)], expected: [key: old])
    }

    private func changed(
        _ value: PropertyListValue?, at depth: Int, in location: DomainLocation,
        _ make: (PropertyListValue?) throws(Failure) -> PropertyListValue?
    ) throws(Failure) -> PropertyListValue? {
        guard depth < steps.count else { return try make(value) }
        switch value {
        case .array(var elements)?:
            let index = try index(at: depth, in: elements, of: location)
            guard index <= elements.count else { throw missingElement(at: depth, among: elements, in: location) }
            let old = index < elements.count ? elements[index] : nil
            let new = try changed(old, at: depth + 1, in: location, make)
            elements.replaceSubrange(index..<(old == nil ? index : index + 1), with: [new].compactMap(\.self))
            return .array(elements)
        case .dictionary(var entries)?:
            entries[steps[depth]] = try changed(entries[steps[depth]], at: depth + 1, in: location, make)
            return .dictionary(entries)
        case nil:
            return .dictionary(
                [steps[depth]: try changed(nil, at: depth + 1, in: location, make)].compactMapValues(\.self))
        case let value?: throw noContainer(at: depth, but: value, in: location)
        }
    }

    private func index(
        at depth: Int, in elements: [PropertyListValue], of location: DomainLocation, consequence: String = ""
    ) throws(Failure) -> Int {
        let step = steps[depth]
        guard !step.isEmpty, step.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw failure(
                at: depth, in: location, saying: "is an array, and \"\(step)\" is not an index",
                consequence: consequence)
        }
        // A number that overflows Int is out of range for any array.
        return Int(step) ?? .max
    }

    /// The path as text, in which a backslash precedes each dot and backslash of a component.
    var text: String { text(upTo: steps.count) }

    private func text(upTo depth: Int) -> String {
        ([key] + steps[..<depth]).map { $0.map { $0 == "." || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() }
            .joined(separator: ".")
    }

    // MARK: Missing values

    /// Returns the path up to a step, in quotes.
    private func shown(_ depth: Int) -> String { "\"\(steps.isEmpty ? key : text(upTo: depth))\"" }

    /// Returns the failure of a step: the path up to it, and what is wrong there.
    private func failure(
        at depth: Int, in location: DomainLocation, saying problem: String, consequence: String, near: String = "",
        status: ExitStatus = .notFound
    ) -> Failure {
        Failure("\(shown(depth)) in \(location.name) \(problem)\(consequence).\(near)", status)
    }

    private func missingElement(
        at depth: Int, among elements: [PropertyListValue], in location: DomainLocation, consequence: String = ""
    ) -> Failure {
        let count = elements.count.counting("element")
        return failure(
            at: depth, in: location, saying: "has \(count), counted from 0, so there is no element \(steps[depth])",
            consequence: consequence)
    }

    private func noContainer(
        at depth: Int, but value: PropertyListValue, in location: DomainLocation, consequence: String = ""
    ) -> Failure {
        failure(
            at: depth, in: location,
            saying: "is of type \(value.typeName), not an array or dictionary, so it has no \"\(steps[depth])\"",
            consequence: consequence, status: .dataError)
    }
}
