import DefaultsCore
import PropertyList

/// A place that has values of GSettings.
enum GSettingsSide: String, CaseIterable {
    case dconf, defaultsd
}

/// The values to carry from the side that was in use to the other one.
///
/// Both sides had the same values when they were last switched. A value that only one side has changed since is the
/// newer one. Where both have, a person must decide.
struct GSettingsMerge {
    /// A key whose values differ.
    struct Item {
        let domain: String
        let key: String
        let source: PropertyListValue?
        let target: PropertyListValue?
    }

    /// The keys to set in the target, or to remove from it.
    private(set) var changes: [Item] = []
    /// The keys whose newer or preferred value is in the target already.
    private(set) var kept: [Item] = []
    /// The keys for which a person must decide.
    private(set) var conflicts: [Item] = []

    /// Compares values.
    ///
    /// - Parameters:
    ///   - source: The values of the side that was in use.
    ///   - target: The values of the other side.
    ///   - agreed: The values that both had; none before the first switch.
    ///   - prefersSource: The side whose value is used in a conflict, if that has been decided.
    init(
        from source: GSettingsValues, to target: GSettingsValues, since agreed: GSettingsValues,
        prefersSource: Bool? = nil
    ) {
        for domain in Set(source.keys).union(target.keys).sorted() {
            let (sources, targets) = (source[domain] ?? [:], target[domain] ?? [:])
            for key in Set(sources.keys).union(targets.keys).sorted() where sources[key] != targets[key] {
                let item = Item(domain: domain, key: key, source: sources[key], target: targets[key])
                let before = agreed[domain]?[key]
                // A target without a value has nothing to lose.
                if item.target == nil || item.target == before {
                    changes.append(item)
                } else if item.source == nil {
                    continue
                } else if item.source == before {
                    kept.append(item)
                } else {
                    switch prefersSource {
                    case true?: changes.append(item)
                    case false?: kept.append(item)
                    case nil: conflicts.append(item)
                    }
                }
            }
        }
    }
}
