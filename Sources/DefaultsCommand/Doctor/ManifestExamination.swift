import DefaultsCore
import Linux
import Manifests

/// The manifests that can't be used, or not as they are.
enum ManifestExamination {
    /// Returns a warning if an agent reads manifests in other directories, so that it takes other keys for secret.
    @FindingList
    static func differences(_ agent: RunningAgent?, from environment: Environment) -> [Finding] {
        let own = directories(environment)
        if let agent, let other = agent.environment.map(directories), own != other {
            Finding(
                .warning, id: "manifests-elsewhere",
                message: "The agent (pid \(agent.pid)) reads manifests in \(list(other)), and this command in "
                    + "\(list(own)). So they take other keys for secret, and enforce other rules.",
                remedy: "Set HOME, XDG_DATA_HOME and XDG_DATA_DIRS to the same values for both. If you change the "
                    + "agent's, restart it.")
        }
    }

    /// Returns the directories that exist; sessions often add others to XDG_DATA_DIRS.
    private static func directories(_ environment: Environment) -> [String] {
        ManifestDirectories(environment: environment).paths.filter { !Path.isMissing($0) }
    }

    private static func list(_ paths: [String]) -> String {
        paths.isEmpty ? "no directory" : paths.joined(separator: ", ")
    }

    static func findings(_ environment: Environment) -> [Finding] {
        let set = ManifestSet(in: ManifestDirectories(environment: environment), keepsTexts: false)
        return set.problems.map {
            switch $0.code {
            case .untrusted: Finding(.warning, id: "manifest-not-enforced", error: $0, remedy: "")
            case .unreadable: Finding(.warning, id: "manifest-unreadable", error: $0, remedy: "Make it readable.")
            default: Finding(.warning, id: "manifest-unused", error: $0, remedy: "Repair or remove it.")
            }
        }
            + set.all.flatMap { _, entry in findings(of: entry) }
    }

    @FindingList
    private static func findings(of entry: ManifestSet.Entry) -> [Finding] {
        let isMisnaming = { (mistake: ManifestProblem) in mistake.entry == ManifestSet.misnamedEntry }
        if let misnaming = entry.mistakes.first(where: isMisnaming) {
            Finding(
                .warning, id: "manifest-misnamed", message: "\(entry.path): \(misnaming)",
                remedy: "Name the file like the domain, \(entry.manifest.domain ?? "").plist, or correct pfm_domain.",
                path: entry.path)
        }
        let count = entry.mistakes.count { !isMisnaming($0) }
        if count > 0 {
            Finding(
                .note, id: "manifest-mistakes", message: "The manifest \(entry.path) has \(count.counting("mistake")).",
                remedy: "To see what they are, run `defaults manifest check \(entry.path)`.", path: entry.path)
        }
    }
}
