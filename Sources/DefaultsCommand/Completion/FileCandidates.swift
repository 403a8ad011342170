import DefaultsCore

/// The names of files that a shell may complete a path to.
enum FileCandidates {
    /// The paths that begin with some text, in order; the name of a directory is like any other.
    static func of(_ prefix: String) -> [String] {
        let typed = ShellWord.value(prefix)
        let end = typed.utf8.lastIndex(of: UInt8(ascii: "/")).map { typed.utf8.index(after: $0) } ?? typed.startIndex
        let directory = String(typed[..<end])
        let path = Environment.current.expandingTilde(directory)
        let names = (try? PreferencesDirectory(path: path).names(in: "")) ?? []
        return names.filter { $0.utf8.starts(with: typed[end...].utf8) }.sorted().map {
            ShellWord.candidate(directory + $0)
        }
    }
}
