import PropertyList

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
    /// What the keys held when it was set, if it is made again after it was perhaps lost.
    ///
    /// Such an edit is overruled by what others have set or written since. `nil` for one that is made the first time.
    package var replacing: DomainValues?
    /// What keys must hold for the edit to be made, `nil` for no value; without it the edit is made in any case.
    ///
    /// It is how a value that was made from another one doesn't undo what came between.
    package var expecting: Difference?

    package init(
        domain: Domain, values: Difference, replacesAll: Bool = false, time: Timestamp = .now(), writer: Writer,
        identity: EditIdentity? = nil, replacing: DomainValues? = nil, expecting: Difference? = nil
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

    /// Checks that the domain may be edited, and that a file with the values could be read again.
    ///
    /// - Throws: `readOnly` or `invalidValue`.
    package func check() throws(DefaultsError) {
        try domain.checkWritable()
        guard !values.contains(where: { $0.hasOverlongMarkRun || $1?.hasUnreadableKey == true }) else {
            throw DefaultsError(
                .invalidValue, "A key for \(domain) has more than 128 combining marks in a row. Use another key.")
        }
        // A file's dictionary is a container too.
        let depth = DomainFile.standardLimits.depth - 1
        for case (let key, let value?) in values where !value.fits(depth: depth) {
            throw DefaultsError(
                .invalidValue,
                "The value of \"\(key)\" for \(domain) has more than \(depth) containers nested, which no file may have."
            )
        }
    }
}
