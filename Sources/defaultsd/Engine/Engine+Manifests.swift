import DefaultsCore
import Logging
import NIOCore

/// The manifests that the agent has read, and their consequences.
struct AgentManifests: Sendable {
    let directories: ManifestDirectories
    /// The patterns of the sensitive keys, in the form of the setting `HistoryExcludes`.
    private(set) var exclusions: [String] = []
    /// The manifests that were read last.
    private var set = ManifestSet.none
    /// The end of the time for which the sensitive keys of an earlier agent stay excluded, in case a directory of
    /// manifests isn't there yet; `nil` if there are none.
    private(set) var graceEnd: NIODeadline?

    static let grace = TimeAmount.minutes(10)

    var needsRetry: Bool { self.set.needsRetry }

    init(in directories: ManifestDirectories) { self.directories = directories }

    /// Reads all manifests from the disk; those that can't be read stay in effect.
    func read() -> ManifestSet { ManifestSet(in: directories, keepsTexts: false, keeping: set) }

    /// Applies what has been read.
    ///
    /// While a file can't be read, the keys that were sensitive stay so, since it may be their manifest.
    ///
    /// - Parameters:
    ///   - set: The manifests.
    ///   - earlier: The patterns of the keys that were sensitive for an earlier agent.
    /// - Returns: A sentence to log about sensitive keys whose manifests are missing; `nil` if there are none.
    mutating func apply(_ set: ManifestSet, earlier: [String] = []) -> String? {
        let known = exclusions + earlier
        // A directory that was missing before has lost nothing now.
        let former = earlier.isEmpty && graceEnd == nil ? self.set.missing : []
        let isLost = !set.missing.isSubset(of: former) && !Set(known).isSubset(of: set.exclusions)
        let isGraceOver = graceEnd.map { $0 <= .now() } ?? false
        let isNew = isLost && graceEnd == nil
        self.set = set
        if isNew { graceEnd = .now() + Self.grace }
        if !isLost || isGraceOver { graceEnd = nil }
        exclusions = Set(set.exclusions + (set.isIncomplete || graceEnd != nil ? known : [])).sorted()
        return isNew
            ? "Manifests that called keys sensitive are missing. In case a directory isn't mounted yet, these keys "
                + "stay out of the history for ten minutes." : nil
    }
}

extension ManifestSet {
    /// The sentences about manifests that can't be used as they are.
    var warnings: [String] {
        problems.map(\.description)
            + entries.filter { !$0.mistakes.isEmpty }.map { entry in
                let count = entry.mistakes.count
                return "The manifest \(entry.path) has \(count == 1 ? "a mistake" : "\(count) mistakes"). To see "
                    + "\(count == 1 ? "it" : "them"), run `defaults manifest check \(entry.path)`."
            }.sorted()
    }
}

extension Engine {
    /// The keys whose values don't get into the history: those of the setting, and those that manifests call sensitive.
    var exclusions: HistoryExclusions { settings.historyExclusions.adding(manifests.exclusions) }

    /// Applies manifests that have been read again.
    func apply(_ set: ManifestSet) {
        store.setManifests(set)
        let old = exclusions
        if let warning = manifests.apply(set) { log.logger.warning("\(warning)") }
        planManifests()
        loggedProblems.log(set.warnings, of: .manifests, to: log.logger)
        if exclusions != old { applyExclusions() }
    }

    /// Plans to read the manifests again if some couldn't be read.
    func planManifests() {
        if manifests.needsRetry {
            fail(.readManifests)
        } else {
            schedule.succeed(.readManifests)
            schedule.remove(.readManifests)
            if let end = manifests.graceEnd { schedule.plan(.readManifests, at: end) }
        }
    }

    /// Removes what may not be in the history from it, except for edits that must be saved first.
    func applyExclusions() {
        let unsaved = store.exclude(exclusions)
        for domain in unsaved { scheduleSave(of: domain, urgency: .immediate) }
        maintainJournal()
    }
}
