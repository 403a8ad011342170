#if Fleet
import DefaultsCore
import Fleet
import Glibc
import Linux
import Manifests

/// The scopes of keys, as the manifests of this machine describe them.
struct ManifestScopes {
    private let directories = ManifestDirectories(environment: .current)
    private var set = ManifestSet.none
    private var times: [Timestamp?] = []
    private var readAt = MonotonicTime(milliseconds: 0)
    /// The patterns of secret keys, such as `org.example.*/Token`.
    private var secrets: [(domain: GlobPattern, key: GlobPattern)] = []
    private var unknown: [GlobPattern] = []

    /// The time after which manifests are read again even if no directory has changed.
    private static let lifetime: Int64 = 3_600_000

    init() { read() }

    /// Reads the manifests again if they may have changed; returns the former scopes if it did.
    mutating func refresh() -> ManifestScopes? {
        let isOld = readAt + Self.lifetime < .now()
        guard isOld || set.needsRetry || times != modificationTimes else { return nil }
        let former = self
        read()
        return former
    }

    private var modificationTimes: [Timestamp?] {
        directories.paths.map { path in (try? FileStatus(at: path)).map { Timestamp($0.st_mtim) } }
    }

    private mutating func read() {
        times = modificationTimes
        readAt = .now()
        set = ManifestSet(in: directories, keepsTexts: false, keeping: set)
        secrets = set.exclusions.compactMap { pattern in
            let parts = pattern.split(separator: "/", maxSplits: 1)
            return parts.count == 2 ? (GlobPattern(String(parts[0])), GlobPattern(String(parts[1]))) : nil
        }
        unknown = set.unknown.map { GlobPattern($0) }
    }

    func scope(of key: FleetKey) -> TravelRules.Scope {
        if secrets.contains(where: { $0.domain.matches(key.domain) && $0.key.matches(key: key.key) }) { return .secret }
        if unknown.contains(where: { $0.matches(key.domain) }) { return .unknown }
        guard let name = try? DomainName(key.domain), let entry = set.entry(for: name),
            let described = entry.manifest.key(named: key.key)
        else { return .roaming }
        return switch described.scope {
        case .roaming: .roaming
        case .machine: .machine
        case .noise: .noise
        }
    }
}
#endif
