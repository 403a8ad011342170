import ArgumentParser
import DefaultsCore
import Glibc

/// The names of files that a shell may complete a path to.
enum FileCandidates {
    /// The paths that begin with some text, in order.
    static func of(_ prefix: String) -> [String] {
        let typed = ShellWord.value(prefix)
        let end = typed.utf8.lastIndex(of: UInt8(ascii: "/")).map { typed.utf8.index(after: $0) } ?? typed.startIndex
        let directory = String(typed[..<end])
        let path = Environment.current.expandingTilde(directory)
        let names = (try? PreferencesDirectory(path: path).names(in: "")) ?? []
        let found = names.filter { $0.utf8.starts(with: typed[end...].utf8) }.map { name in
            // bash and fish leave out the space behind a slash; zsh has one behind every word.
            CompletionShell.requesting != .zsh && isDirectory(path + name) ? name + "/" : name
        }
        return ShellWord.candidates(found.map { directory + $0 }, for: prefix, arePaths: true)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
