package import PropertyList

/// The values of keys before an edit, `nil` for none: the one that the edit replaced, then those that earlier edits of the same
/// process set meanwhile, which are nobody else's either.
///
/// A key that isn't there had no value.
package typealias FormerValues = [String: [PropertyListValue?]]

/// What an app asks to be changed in one domain, as one change set.
package struct EditRequest: Hashable, Sendable {
    package var domain: Domain
    /// The keys to be set, or with `nil` to be removed.
    package var values: Difference
    /// Whether all other keys are removed.
    package var replacesAll: Bool
    /// When it was set.
    package var time: Timestamp
    package var writer: Writer
    /// Which edit it is, if its sender may send it again.
    package var identity: EditIdentity?
    /// The keys' former values, if it is made again after it was perhaps lost.
    ///
    /// Such an edit is overruled by what others have set or written since. `nil` for one that is made the first time.
    package var replacing: FormerValues?
    /// What keys must hold for the edit to be made, `nil` for no value; without it the edit is made in any case.
    ///
    /// It is how a value that was made from another one doesn't undo what came between.
    package var expecting: Difference?

    package init(
        domain: Domain, values: Difference, replacesAll: Bool = false, time: Timestamp = .now(), writer: Writer,
        identity: EditIdentity? = nil, replacing: FormerValues? = nil, expecting: Difference? = nil
    ) {
        self.domain = domain
        self.values = values
        self.replacesAll = replacesAll
        self.time = time
        self.writer = writer
        self.identity = identity
        self.replacing = replacing
        self.expecting = expecting
    }

    /// The size of the largest edit: it leaves room for what else is in a request.
    private static let maximumBytes = Frame.standardLimit - 4_096

    /// Checks that the domain may be edited, and that a file with the values could be read again.
    ///
    /// - Throws: `readOnly` or `invalidValue`.
    package func check() throws(DefaultsError) {
        try domain.checkWritable()
        guard !values.contains(where: { $0.hasOverlongMarkRun || $1?.hasUnreadableKey == true }) else {
            throw DefaultsError(
                .invalidValue, "A key for \(domain) has more than 128 combining marks in a row. Use another key.")
        }
        if let (key, _) = values.first(where: { $1?.hasDateBeyondCalendar == true }) {
            throw DefaultsError(
                .invalidValue,
                "The value of \"\(key)\" for \(domain) has a date outside the years 0 to 9999, which no text can hold. Use a "
                    + "date within these years.")
        }
        // A file's dictionary is a container too.
        let depth = DomainFile.standardLimits.depth - 1
        for case (let key, let value?) in values where !value.fits(depth: depth) {
            throw DefaultsError(
                .invalidValue,
                "The value of \"\(key)\" for \(domain) has more than \(depth) containers nested, which no file may have."
            )
        }
        // Not encoded but where it may be too large.
        let size = values.reduce(0) { $0 + $1.key.utf8.count + ($1.value?.estimatedSize ?? 0) }
        guard size > Frame.standardLimit / 4 else { return }
        let bytes = try Frame.encode(values.compactMapValues(\.self)).count
        guard bytes <= Self.maximumBytes else {
            throw DefaultsError(
                .invalidValue,
                "The values for \(domain) take \(bytes) bytes, and an edit may have \(Self.maximumBytes); keep what is large "
                    + "in a file of its own.")
        }
    }
}
