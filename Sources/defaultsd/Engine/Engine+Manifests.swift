import DefaultsCore
import Logging

/// The manifests that the agent has read, and their consequences.
struct AgentManifests: Sendable {
    let directories: ManifestDirectories
    /// The patterns of the sensitive keys, in the form of the setting `HistoryExcludes`.
    private(set) var exclusions: [String] = []
    /// The manifests that were read last.
    private var set = ManifestSet.none

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
    ///   - earlier: The exclusions of an earlier agent.
    mutating func apply(_ set: ManifestSet, earlier: HistoryExclusions? = nil) {
        self.set = set
        let known = set.isIncomplete ? exclusions + (earlier?.texts ?? []) : []
        exclusions = Set(set.exclusions + known).sorted()
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
        manifests.apply(set)
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
        }
    }

    /// Removes what may not be in the history from it.
    func applyExclusions() {
        store.journal?.exclude(exclusions)
        maintainJournal()
    }
}
