import DefaultsCore
import PropertyList

extension Merge {
    /// Merges the file's current contents, whose writer hadn't read the newest version.
    mutating func reload(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp, isUnread: Bool? = true,
        isInPlace: Bool = false, isWhole: Bool = false
    ) -> Result {
        let evidence = WriterEvidence(written: time, isUnread: isUnread, isInPlace: isInPlace)
        return reload(disk, format: format, changedAt: time, by: evidence, isWhole: isWhole)
    }

    /// Merges a version that was displaced, whose writer hadn't read the newest version.
    mutating func displace(
        _ disk: DomainValues, format: PropertyListFormat, changedAt time: Timestamp, loadedBefore total: Int,
        isUnread: Bool? = true
    ) -> Result {
        let evidence = WriterEvidence(written: time, isUnread: isUnread)
        return displace(disk, format: format, changedAt: time, by: evidence, loadedBefore: total)
    }
}
