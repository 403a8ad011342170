import DefaultsCore

/// The manifests that can't be used, or not as they are.
enum ManifestExamination {
    static func findings(_ environment: Environment) -> [Finding] {
        let set = ManifestSet(in: ManifestDirectories(environment: environment), keepsTexts: false)
        return set.problems.map {
            switch $0.code {
            case .untrusted: Finding(.warning, id: "manifest-not-enforced", error: $0, remedy: "")
            case .unreadable: Finding(.warning, id: "manifest-unreadable", error: $0, remedy: "Make it readable.")
            default: Finding(.warning, id: "manifest-unused", error: $0, remedy: "Repair or remove it.")
            }
        }
            + set.all.filter { !$0.entry.mistakes.isEmpty }.map { _, entry in
                Finding(
                    .note, id: "manifest-mistakes",
                    message: "The manifest \(entry.path) has \(entry.mistakes.count.counting("mistake")).",
                    remedy: "To see what they are, run `defaults manifest check \(entry.path)`.", path: entry.path)
            }
    }
}
