/// A domain's values in force, at one place of the change log.
package struct DomainSnapshot: Sendable {
    package var domain: Domain
    package var values: DomainValues
    /// Every change up to here is in `values`, and none after.
    package var cursor: Cursor
    /// Why the domain's file can't be taken as it is; `values` are then the last good ones, if there were any.
    package var damage: String?

    package init(domain: Domain, values: DomainValues, cursor: Cursor, damage: String? = nil) {
        self.domain = domain
        self.values = values
        self.cursor = cursor
        self.damage = damage
    }
}
