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

    package init(
        domain: Domain, values: Difference, replacesAll: Bool = false, time: Timestamp = .now(), writer: Writer
    ) {
        self.domain = domain
        self.values = values
        self.replacesAll = replacesAll
        self.time = time
        self.writer = writer
    }
}
