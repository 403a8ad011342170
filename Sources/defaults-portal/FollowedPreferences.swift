#if Portal
import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import Linux
import PropertyList
import Synchronization

/// The preferences from which the settings come, kept up to date.
///
/// For one thread; a descriptor tells it when something has changed. No task runs, since Swift's runtime wakes a
/// process with tasks every second.
final class FollowedPreferences {
    /// A domain that is followed.
    private struct Follower {
        let defaults: UserDefaults
        let observation: ObservedKeys
        /// The values that a search finds, and the keys that are in a domain of that name.
        private(set) var found: (values: [String: PropertyListValue], own: Set<String>) = ([:], [])

        init(_ defaults: UserDefaults, waking wakeUp: WakeUp) {
            self.defaults = defaults
            observation = ObservedKeys(defaults, keys: nil, waking: wakeUp)
        }

        mutating func search() {
            let values = defaults.values()
            let own = defaults.list.layers.flatMap { layer -> [String] in
                guard case .persistent(let domain) = layer, domain.name == defaults.domain.name else { return [] }
                return Array(defaults.client.values(of: domain).keys)
            }
            found = (values, Set(own))
        }
    }

    private final class Changed: Sendable {
        let descriptor = EventDescriptor.open()
        let names = Mutex<Set<String>>([])

        func insert(_ name: String) {
            names.withLock { _ = $0.insert(name) }
            EventDescriptor.signal(descriptor)
        }
    }

    private let changed = Changed()
    private var followers: [String: Follower] = [:]
    private var map = SettingsMap([:])
    private let isAlone: Bool

    /// The descriptor that is readable when preferences have changed.
    var descriptor: Int32 { changed.descriptor }

    /// Returns whether preferences have changed since the last settings, and resets the descriptor.
    func haveChanged() -> Bool {
        EventDescriptor.reset(descriptor)
        return changed.names.withLock { !$0.isEmpty }
    }

    /// Creates the preferences; `isAlone` is whether the portal has no other backend.
    init(isAlone: Bool) {
        self.isAlone = isAlone
        follow([SettingsMap.domain])
    }

    /// Returns the settings that come from the current preferences.
    func settings() -> PortalSettings {
        while let name = changed.names.withLock({ $0.popFirst() }) {
            followers[name]?.search()
            if name == SettingsMap.domain, let (values, own) = followers[name]?.found {
                // The global domain has no map.
                map = SettingsMap(values.filter { own.contains($0.key) })
                follow(map.domainNames)
            }
        }
        return PortalSettings(map, isAlone: isAlone) { followers[$0]?.found ?? ([:], []) }
    }

    private func follow(_ names: Set<String>) {
        for name in followers.keys where !names.contains(name) { followers[name] = nil }
        for name in names where followers[name] == nil {
            guard let defaults = UserDefaults(suiteName: name) else { continue }
            followers[name] = Follower(defaults, waking: WakeUp { [changed] in changed.insert(name) })
            changed.insert(name)
        }
    }
}
#endif
