package import PropertyList

/// A condition on another key's value, one of several on which a key depends.
package struct Condition: Sendable, Hashable {
    /// The other key, as in the manifest: names with dots between them.
    package var target: String
    package var test: Test

    /// A test of a value.
    package enum Test: Sendable, Hashable {
        case isPresent(Bool)
        case isEmpty(Bool)
        /// Whether the value, or all elements of an array, are among values.
        case isAmong([PropertyListValue], Bool)
        /// Whether the value, or an element of an array, is one of values.
        case containsAny([PropertyListValue], Bool)

        fileprivate var list: [PropertyListValue]? {
            switch self {
            case .isPresent, .isEmpty: nil
            case .isAmong(let list, _), .containsAny(let list, _): list
            }
        }
    }

    /// The way to the target from the key that has the condition; `nil` if the manifest doesn't have the target.
    var route: Route?

    /// A way from a key to another.
    struct Route: Sendable, Hashable {
        /// The number of containers to leave after the one that has the key.
        var levels: Int
        /// The names to enter from there.
        var names: [String]
        /// The default of the key that is reached.
        var defaultValue: PropertyListValue?
    }

    package init(target: String, test: Test) { (self.target, self.test) = (target, test) }

    /// Returns whether the condition holds.
    ///
    /// - Parameters:
    ///   - containers: The values of the containers around the key, the domain first.
    ///   - work: The steps that are left; when there are none, no condition holds.
    /// - Returns: Whether it holds.
    func holds(in containers: [PropertyListValue], within work: inout Int) -> Bool {
        if work <= 0 { return false }
        guard let route, containers.count > route.levels else { return false }
        let container = containers[containers.count - 1 - route.levels]
        let found = Self.values(at: route.names[...], in: container, within: &work)
        if work <= 0 { return false }
        if case .isPresent(let isPresent) = test { return found.isEmpty != isPresent }
        let values = found.isEmpty ? [route.defaultValue].compactMap(\.self) : found
        return values.contains { value in
            work -= (test.list?.count ?? 0) * Self.elements(value).count
            if work <= 0 { return false }
            return switch test {
            case .isPresent: false
            case .isEmpty(let isEmpty): Self.isEmpty(value) == isEmpty
            case .isAmong(let list, let isAmong): Self.elements(value).allSatisfy(list.contains) == isAmong
            case .containsAny(let list, let contains): Self.elements(value).contains(where: list.contains) == contains
            }
        }
    }

    /// Returns the values at a path; several only if it leads through an array.
    private static func values(
        at names: ArraySlice<String>, in value: PropertyListValue, within work: inout Int
    ) -> [PropertyListValue] {
        work -= 1
        if work <= 0 { return [] }
        if names.isEmpty { return [value] }
        switch value {
        case .dictionary(let entries):
            return entries[names[names.startIndex]].map { values(at: names.dropFirst(), in: $0, within: &work) } ?? []
        // The name is that of the elements.
        case .array(let elements):
            return elements.flatMap { values(at: names.dropFirst(), in: $0, within: &work) }
        default: return []
        }
    }

    private static func elements(_ value: PropertyListValue) -> [PropertyListValue] {
        if case .array(let elements) = value { elements } else { [value] }
    }

    private static func isEmpty(_ value: PropertyListValue) -> Bool {
        switch value {
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        case .dictionary(let entries): entries.isEmpty
        case .data(let bytes): bytes.isEmpty
        default: false
        }
    }
}

extension ManifestKey {
    /// Finds the targets of all conditions in a domain; returns those that it doesn't have.
    mutating func resolveConditions() -> [Manifest.MissingTarget] {
        var missing: [Manifest.MissingTarget] = []
        resolve(in: [ConditionScope(self)], names: [], missing: &missing)
        return missing
    }

    private mutating func resolve(
        in scopes: [ConditionScope], names: [String], missing: inout [Manifest.MissingTarget]
    ) {
        if !containsConditions { return }
        for index in subkeys.indices where subkeys[index].containsConditions {
            let path = names + [subkeys[index].name]
            func resolve(_ condition: inout Condition) {
                condition.route = condition.route(in: scopes, names: names)
                if condition.route == nil { missing.append(.init(path: path, target: condition.target)) }
            }
            for position in subkeys[index].exclusions.indices { resolve(&subkeys[index].exclusions[position]) }
            for group in subkeys[index].requirements.indices {
                for position in subkeys[index].requirements[group].indices {
                    resolve(&subkeys[index].requirements[group][position])
                }
            }
            subkeys[index].resolve(in: scopes + [ConditionScope(subkeys[index])], names: path, missing: &missing)
        }
    }

    private var containsConditions: Bool { hasConditions || subkeys.contains(where: \.containsConditions) }
}

/// A container around a key with a condition, with its keys by their names.
private final class ConditionScope {
    private let subkeys: [String: ManifestKey]
    /// The containers in it that were looked into.
    private var inner: [String: ConditionScope] = [:]

    init(_ key: ManifestKey) {
        subkeys = Dictionary(key.subkeys.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Returns the key at a target, and the names that lead to it, of which each is as long as possible.
    ///
    /// Names may contain dots. Trying shorter ones, too, could take time that grows exponentially.
    func find(_ parts: ArraySlice<String>) -> (key: ManifestKey, names: [String])? {
        for end in parts.indices.reversed() {
            let name = parts[...end].joined(separator: ".")
            guard let key = subkeys[name] else { continue }
            let rest = parts[(end + 1)...]
            if rest.isEmpty { return (key, [name]) }
            let scope = inner[name] ?? ConditionScope(key)
            inner[name] = scope
            return scope.find(rest).map { ($0.key, [name] + $0.names) }
        }
        return nil
    }
}

extension Condition {
    /// The maximum number of names in a target, which keeps the search short; the deepest public one has five.
    static let maximumParts = 16

    /// Returns the way to the target: from the domain on, or else from a container around the key, the innermost first.
    fileprivate func route(in scopes: [ConditionScope], names: [String]) -> Route? {
        let parts = target.split(separator: ".", maxSplits: Self.maximumParts, omittingEmptySubsequences: false)
            .map(String.init)
        guard parts.count <= Self.maximumParts else { return nil }
        for depth in [0] + scopes.indices.dropFirst().reversed() {
            guard let found = scopes[depth].find(parts[...]) else { continue }
            let path = names[..<depth] + found.names
            // The part that the paths have in common leads to the same elements of arrays.
            var common = 0
            while common < names.count, common < path.count - 1, names[common] == path[common] { common += 1 }
            return Route(
                levels: names.count - common, names: Array(path.dropFirst(common)),
                defaultValue: found.key.effectiveDefault)
        }
        return nil
    }
}
