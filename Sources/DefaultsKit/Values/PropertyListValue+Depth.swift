import DefaultsCore
package import PropertyList

extension PropertyListValue {
    /// How many containers a stored value may nest: one level of a file's is the domain's own.
    ///
    /// A value deeper than that would make a file that can't be read again, and so endanger the domain's other keys.
    package static var maximumDepth: Int { DomainFile.standardLimits.depth - 1 }

    /// Whether more containers are nested in each other than that.
    package func isDeeper(than limit: Int) -> Bool {
        switch self {
        case .array(let values): limit <= 0 || values.contains { $0.isDeeper(than: limit - 1) }
        case .dictionary(let values): limit <= 0 || values.values.contains { $0.isDeeper(than: limit - 1) }
        default: false
        }
    }
}
