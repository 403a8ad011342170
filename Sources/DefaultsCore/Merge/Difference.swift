package import PropertyList

/// What makes one version of a domain into another: each differing key with its value there, `nil` for none.
package typealias Difference = [String: PropertyListValue?]

extension Difference {
    /// The keys in which two versions differ, with the second one's values.
    package init(from first: DomainValues, to second: DomainValues, readFrom format: PropertyListFormat) {
        self.init()
        for (key, value) in second where !PropertyListValue.areSame(first[key], value, readFrom: format) {
            self[key] = .some(value)
        }
        if second.count - count < first.count {
            // Not every key of the first is in the second.
            for key in first.keys where second[key] == nil { self[key] = .some(nil) }
        }
    }
}

extension PropertyListValue {
    /// Whether a value in memory is the one that was read from a file, as far as the file's format can tell.
    ///
    /// XML keeps no fractions of a second and no width of reals: a file that lost them on the way has not changed them.
    package static func areSame(
        _ memory: PropertyListValue?, _ file: PropertyListValue?, readFrom format: PropertyListFormat
    ) -> Bool {
        if memory == file { return true }
        guard format != .binary, let memory, let file else { return false }
        return memory.asStored(in: format) == file
    }
}
