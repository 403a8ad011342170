import DefaultsCore
import PropertyList

/// A place that has values of GSettings.
enum GSettingsSide: String, CaseIterable {
    case dconf, defaultsd
}

/// The values to carry from one side, the source, to the other, the target.
///
/// A side that still has the value of the last switch hasn't changed it since, so the other side's value, or the lack
/// of one, is newer. Where both have changed, a person must decide.
struct GSettingsMerge {
    /// A key whose values differ.
    struct Item {
        let domain: String
        let key: String
        let source: PropertyListValue?
        let target: PropertyListValue?
        /// Whether a person has decided for the target's value.
        var isPreferred = false
    }

    /// The values that both sides had once.
    struct History {
        /// Those at the last switch; none before the first one.
        var agreed: GSettingsValues = [:]
        /// Those of switches that didn't end, which the target may have from them.
        var pending: [GSettingsValues] = []
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
    ///   - source: The values of the source.
    ///   - target: The values of the target.
    ///   - history: Earlier values.
    ///   - unfit: The keys whose values can't be carried, by their domains.
    ///   - isSwitched: Whether the target is in use already.
    ///   - prefersSource: The side whose value is used in a conflict, if that has been decided.
    init(
        from source: GSettingsValues, to target: GSettingsValues, since history: History,
        except unfit: [String: Set<String>] = [:], isSwitched: Bool = false, prefersSource: Bool? = nil
    ) {
        for domain in Set(source.keys).union(target.keys).sorted() {
            let (sources, targets) = (source[domain] ?? [:], target[domain] ?? [:])
            for key in Set(sources.keys).union(targets.keys).sorted() where sources[key] != targets[key] {
                if unfit[domain]?.contains(key) == true { continue }
                var item = Item(domain: domain, key: key, source: sources[key], target: targets[key])
                let before = history.agreed[domain]?[key]
                let isPending = history.pending.contains { item.target != nil && $0[domain]?[key] == item.target }
                if GSettingsNoise.contains(key, of: domain) {
                    // The side in use remembers something newer.
                    if !isSwitched, item.source != nil { changes.append(item) }
                } else if item.target == before || isPending {
                    changes.append(item)
                } else if item.source == before {
                    kept.append(item)
                } else {
                    switch prefersSource {
                    case true?: changes.append(item)
                    case false?:
                        item.isPreferred = true
                        kept.append(item)
                    case nil: conflicts.append(item)
                    }
                }
            }
        }
    }
}
