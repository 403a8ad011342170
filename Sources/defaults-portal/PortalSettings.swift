#if Portal
import DefaultsCore
import PropertyList

/// The settings of the portal at one moment, by namespace and key.
///
/// If there are other backends, a shared setting without a preference isn't among them, so that one of those gives its
/// value.
struct PortalSettings: Sendable {
    private(set) var values: [String: [String: PortalValue]] = [:]
    /// The values that settings have when their preferences are removed.
    private var defaults: [String: [String: PortalValue]] = [:]
    /// The reasons why preferences aren't in the settings.
    private(set) var problems: [String] = []
    /// The bytes that more values may have.
    private var room = Self.limit

    /// The namespace of settings that other backends have, too.
    private static let shared = "org.freedesktop.appearance"

    /// The maximum size of all values, so that one answer can hold them.
    private static let limit = 16 << 20

    init() {}

    /// Finds the settings.
    ///
    /// - Parameters:
    ///   - map: The map from preferences to settings.
    ///   - isAlone: Whether there is no other backend, so that shared settings without a preference have their
    ///     defaults. Some programs, such as those with libadwaita, follow only a setting that exists when they start.
    ///   - find: Returns the values of a domain that a search finds, and the keys that are in a domain of that name.
    init(
        _ map: SettingsMap, isAlone: Bool,
        _ find: (_ domain: String) -> (values: [String: PropertyListValue], own: Set<String>)
    ) {
        problems = map.problems
        let found = Dictionary(uniqueKeysWithValues: map.domainNames.map { ($0, find($0)) })
        for (name, settings) in map.settings.sorted(by: { $0.key < $1.key }) {
            for (key, setting) in settings.sorted(by: { $0.key < $1.key }) {
                defaults[name, default: [:]][key] = setting.fallback
                if isAlone || name != Self.shared { values[name, default: [:]][key] = setting.fallback }
                for rule in setting.rules {
                    guard let preference = found[rule.domain]?.values[rule.key] else { continue }
                    guard let value = rule.apply(to: preference) else {
                        problems.append("\(name) \(key): \(rule.key) of \(rule.domain) must be \(rule.requirement).")
                        continue
                    }
                    add(value, to: name, as: key)
                    break
                }
            }
        }
        for domain in map.domains.sorted() {
            guard let (all, own) = found[domain] else { continue }
            let name = SettingsMap.prefix + domain
            for key in own.sorted() where values[name]?[key] == nil {
                guard let preference = all[key] else { continue }
                guard key.isSendable, let value = PortalValue(preference) else {
                    problems.append(
                        "\(Self.shown(key)) of \(domain) can't be sent over D-Bus: it contains a UID, a date outside "
                            + "the years 0 to 9999, more than 16 levels, or a NUL or noncharacter.")
                    continue
                }
                add(value, to: name, as: key)
            }
        }
        values[SettingsMap.marker.name, default: [:]][SettingsMap.marker.key] = .string(Version.current)
    }

    private mutating func add(_ value: PortalValue, to name: String, as key: String) {
        guard value.size <= room else {
            problems.append(
                "\(Self.shown(key)) of \(name) is too large: the settings have at most \(Self.limit >> 20) MiB in "
                    + "total.")
            return
        }
        (room, isEmpty) = (room - value.size, false)
        values[name, default: [:]][key] = value
    }

    /// Returns the beginning of a name, on one line.
    private static func shown(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(100).map { $0.isASCII && $0.value < 32 ? "?" : $0 }))
    }

    /// Whether no preference is a setting.
    private(set) var isEmpty = true

    /// Returns the namespaces that match one of some patterns, or all if there are none.
    ///
    /// A pattern is a namespace, or its beginning and `*`; an empty one matches all.
    func matching(_ patterns: [String]) -> [(name: String, settings: [String: PortalValue])] {
        let wanted = values.filter { name, _ in
            patterns.isEmpty
                || patterns.contains { pattern in
                    pattern.isEmpty || pattern == name || pattern.last == "*" && name.hasPrefix(pattern.dropLast())
                }
        }
        return wanted.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the settings that differ from earlier ones.
    ///
    /// There is no signal for a setting that is gone, so it is said to have its default, if it has one.
    func changes(from earlier: PortalSettings) -> [(name: String, key: String, value: PortalValue)] {
        Set(values.keys).union(earlier.values.keys).sorted().flatMap { name in
            let (new, old) = (values[name] ?? [:], earlier.values[name] ?? [:])
            return Set(new.keys).union(old.keys).sorted().compactMap { key -> (String, String, PortalValue)? in
                guard let value = new[key] ?? defaults[name]?[key], old[key] != value else { return nil }
                return (name, key, value)
            }
        }
    }
}

extension SettingsMap.Rule {
    fileprivate func apply(to preference: PropertyListValue) -> PortalValue? {
        guard let values else { return PortalValue(preference, as: type) }
        return preference.portalTexts.compactMap { values[$0] }.first
    }

    /// A description of what the preference must be.
    fileprivate var requirement: String {
        values.map { "one of \($0.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", "))" }
            ?? "a value of the type \(type.rawValue)"
    }
}
#endif
