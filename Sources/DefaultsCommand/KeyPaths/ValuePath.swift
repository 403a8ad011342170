package import DefaultsCore
package import PropertyList

/// A key of a domain, and the way from its value to one inside.
package struct ValuePath {
    package let key: String
    /// Keys of dictionaries and indices of arrays, from the outside in; none for the key's own value.
    let steps: [String]
    /// Whether a key that is missing may be made to hold what the steps lead to.
    let isForced: Bool

    init(key: String, steps: ArraySlice<String> = [], isForced: Bool = false) {
        self.key = key
        self.steps = Array(steps)
        self.isForced = isForced
    }

    /// The value at the path's end.
    ///
    /// - Parameters:
    ///   - values: what the domain holds.
    ///   - place: where it is.
    ///   - consequence: what isn't done without it, as the end of the sentence.
    /// - Returns: the value.
    /// - Throws: what isn't there, or holds nothing.
    package func value(
        in values: DomainValues, of place: DomainPlace, _ consequence: String = ""
    ) throws(Failure) -> PropertyListValue {
        guard var value = values[key] else {
            throw NotFound.key(key, among: values.keys, of: place, consequence)
        }
        for depth in steps.indices {
            switch value {
            case .dictionary(let entries):
                guard let entry = entries[steps[depth]] else {
                    let near = NearName.question(steps[depth], among: entries.keys)
                    throw missingEntry(depth, place, consequence, near)
                }
                value = entry
            case .array(let elements):
                let index = try index(depth, in: elements, place, consequence)
                guard index < elements.count else { throw missingElement(depth, elements, place, consequence) }
                value = elements[index]
            default: throw noContainer(depth, value, place, consequence)
            }
        }
        return value
    }

    /// An edit that makes a new value of the one at the path's end, which holds as long as the key's value is the same.
    ///
    /// - Parameters:
    ///   - values: what the domain holds.
    ///   - place: where it is.
    ///   - make: gives the new value, `nil` to remove it.
    /// - Returns: the edit of the key.
    /// - Throws: what on the way isn't there or holds nothing, or what `make` throws.
    package func edit(
        in values: DomainValues, of place: DomainPlace,
        _ make: (PropertyListValue?) throws(Failure) -> PropertyListValue?
    ) throws(Failure) -> ConditionalEdit {
        let old = values[key]
        if old == nil, !steps.isEmpty, !isForced {
            let failure = NotFound.key(key, among: values.keys, of: place)
            throw Failure("\(failure.message) Write --key-path before the domain to make it.", failure.status)
        }
        return ConditionalEdit(values: [key: try changed(old, 0, place, make)], expected: [key: old])
    }

    private func changed(
        _ value: PropertyListValue?, _ depth: Int, _ place: DomainPlace,
        _ make: (PropertyListValue?) throws(Failure) -> PropertyListValue?
    ) throws(Failure) -> PropertyListValue? {
        guard depth < steps.count else { return try make(value) }
        switch value {
        case .array(var elements)?:
            let index = try index(depth, in: elements, place)
            guard index <= elements.count else { throw missingElement(depth, elements, place) }
            let old = index < elements.count ? elements[index] : nil
            let new = try changed(old, depth + 1, place, make)
            elements.replaceSubrange(index..<(old == nil ? index : index + 1), with: [new].compactMap(\.self))
            return .array(elements)
        case .dictionary(var entries)?:
            entries[steps[depth]] = try changed(entries[steps[depth]], depth + 1, place, make)
            return .dictionary(entries)
        case nil:
            return .dictionary([steps[depth]: try changed(nil, depth + 1, place, make)].compactMapValues(\.self))
        case let value?: throw noContainer(depth, value, place)
        }
    }

    private func index(
        _ depth: Int, in elements: [PropertyListValue], _ place: DomainPlace, _ consequence: String = ""
    ) throws(Failure) -> Int {
        let step = steps[depth]
        guard !step.isEmpty, step.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw Failure(
                "\(shown(depth)) in \(place.name) is an array: its elements have numbers from 0 on, and \"\(step)\" is "
                    + "none\(consequence).",
                .notFound)
        }
        // What is beyond all numbers is beyond all arrays.
        return Int(step) ?? .max
    }

    // MARK: What is missing

    /// What leads to a step, between quotes.
    private func shown(_ depth: Int) -> String {
        let parts = ([key] + steps[..<depth]).map { part in
            depth == 0 && steps.isEmpty ? part : part.map { $0 == "." || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        }
        return "\"\(parts.joined(separator: "."))\""
    }

    private func missingEntry(
        _ depth: Int, _ place: DomainPlace, _ consequence: String, _ near: String
    ) -> Failure {
        Failure("\(shown(depth)) in \(place.name) has no key \"\(steps[depth])\"\(consequence).\(near)", .notFound)
    }

    private func missingElement(
        _ depth: Int, _ elements: [PropertyListValue], _ place: DomainPlace, _ consequence: String = ""
    ) -> Failure {
        let count = elements.count == 1 ? "1 element" : "\(elements.count) elements"
        return Failure(
            "\(shown(depth)) in \(place.name) has \(count), numbered from 0 on, and none with the number "
                + "\(steps[depth])\(consequence).",
            .notFound)
    }

    private func noContainer(
        _ depth: Int, _ value: PropertyListValue, _ place: DomainPlace, _ consequence: String = ""
    ) -> Failure {
        Failure(
            "\(shown(depth)) in \(place.name) is no array or dictionary but of type \(value.typeName), and holds no "
                + "\"\(steps[depth])\"\(consequence).", .dataError)
    }
}
