extension PropertyListValue {
    /// Whether no more than so many containers are nested in it, itself included.
    ///
    /// It looks no deeper than that, so that a value from anywhere costs no more stack than one that fits.
    package func fits(depth: Int) -> Bool {
        switch self {
        case .array(let elements): depth > 0 && elements.allSatisfy { $0.fits(depth: depth - 1) }
        case .dictionary(let entries): depth > 0 && entries.values.allSatisfy { $0.fits(depth: depth - 1) }
        case .string, .integer, .unsigned, .real, .real32, .boolean, .date, .data, .uid: true
        }
    }
}
