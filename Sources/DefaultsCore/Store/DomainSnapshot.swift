/// A domain's values in force, at one place of the change log.
package struct DomainSnapshot: Sendable {
    package var domain: Domain
    package var values: DomainValues
    /// Every change up to here is in `values`, and none after.
    package var cursor: Cursor

    package init(domain: Domain, values: DomainValues, cursor: Cursor) {
        self.domain = domain
        self.values = values
        self.cursor = cursor
    }
}
