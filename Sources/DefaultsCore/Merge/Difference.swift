package import PropertyList

/// The difference between two versions of a domain: the keys that differ, with their values in the second version, or
/// `nil` for none.
package typealias Difference = [String: PropertyListValue?]

extension Difference {
    /// Creates the difference between two versions of a domain, the second of which was read from a file.
    package init(from first: DomainValues, to second: DomainValues, readFrom format: PropertyListFormat) {
        self.init()
        for (key, value) in second where !PropertyListValue.areSame(first[key], value, readFrom: format) {
            self[key] = .some(value)
        }
        if second.count - count < first.count {
            // Fewer keys are equal than the first version has, so some of its keys may be missing from the second.
            for key in first.keys where second[key] == nil { self[key] = .some(nil) }
        }
    }
}

extension PropertyListValue {
    /// Returns whether a value in memory equals a value from a file, as far as the file's format can represent it.
    ///
    /// XML, for example, stores neither fractions of a second nor the width of reals. Dropping these doesn't count as a
    /// change.
    package static func areSame(
        _ memory: PropertyListValue?, _ file: PropertyListValue?, readFrom format: PropertyListFormat
    ) -> Bool {
        if memory == file { return true }
        guard format != .binary, let memory, let file else { return false }
        return memory.asStored(in: format) == file
    }

    /// Returns whether a value in the history equals a value in effect, which may have been read from XML since.
    package static func areSame(_ recorded: PropertyListValue?, inEffect value: PropertyListValue?) -> Bool {
        areSame(recorded, value, readFrom: .xml)
    }
}
