import DefaultsClient
import DefaultsCore
import Glibc
import PropertyList

/// A run of `edit`, which shows a domain in the editor and saves the changed keys.
struct EditorSession {
    let location: DomainLocation
    let options: LocationOptions
    let isXML: Bool
    let isStrict: Bool

    func run() throws {
        let before = try options.open(location).valuesIfAny(
            "You are editing its last good values. \(OpenDomain.replacement)")
        let path = try options.directory(of: location).path(of: location.domain)
        let text = try EditorText(before, title: "\(location.domain) in \(path)", isXML: isXML)
        let file = try PrivateFile(named: "\(location.domain.name).plist", text.bytes)
        do {
            let (changes, time) = try edit(text, file)
            if !changes.isEmpty {
                try set(changes, before)
            } else if Editor.mayNotHaveWaited(time) {
                return Failure.report(
                    "Nothing was changed in \(location.name): the editor \"\(Editor(.current).command)\" ended at "
                        + "once. If it opened the text in a window, make it wait until you close that, as in "
                        + "EDITOR='code --wait'. The text is saved in \(file.path).")
            } else {
                Failure.report("Nothing was changed in \(location.name).")
            }
        } catch {
            throw isKept(file, text) ? Self.adding("Your text is kept in \(file.path).", to: error) : error
        }
        file.remove()
    }

    /// Runs the editor until the text can be parsed, and returns the changes and how long it ran in the end.
    private func edit(_ text: EditorText, _ file: PrivateFile) throws -> (Difference, Duration) {
        let editor = Editor(.current)
        while true {
            let start = ContinuousClock.now
            let status = try editor.edit(file.path)
            guard status == 0 else {
                throw Failure(
                    "The editor \"\(editor.command)\" exited with status \(status); nothing was changed.", .unavailable)
            }
            do throws(Failure) {
                return (try text.changes(in: file.read(), at: file.path), .now - start)
            } catch {
                // Editing again helps only if the text can't be parsed, not if the file is gone.
                guard error.status == .dataError else { throw error }
                guard askToRetry(after: error) else { throw Failure("Canceled; nothing was changed.", .dataError) }
            }
        }
    }

    /// Asks whether to edit again after the text couldn't be parsed.
    private func askToRetry(after error: Failure) -> Bool {
        Failure.report(error.message)
        Failure.report("Press Enter to edit again, or type q and Enter to quit.")
        guard let answer = readLine() else { return false }
        return !answer.lowercased().hasPrefix("q")
    }

    private func set(_ changes: Difference, _ before: DomainValues) throws {
        // The agent may have been replaced while the editor was open.
        var open = try options.open(location)
        open.isStrict = isStrict
        let now = try open.backend.snapshot(of: open.domain).values
        for key in changes.keys.sorted() where now[key] != before[key] && changes[key] != .some(now[key]) {
            Failure.report("Another program changed \"\(key)\" in the meantime; your value replaces its value.")
        }
        try open.edit(changes)
    }

    /// Removes the file unless the user changed its text, and returns whether it was kept.
    private func isKept(_ file: PrivateFile, _ text: EditorText) -> Bool {
        // If the file is gone, the user removed it.
        if access(file.path, F_OK) == 0, (try? file.read()) != text.bytes { return true }
        file.remove()
        return false
    }

    private static func adding(_ sentence: String, to error: any Error) -> Failure {
        switch error {
        case let failure as Failure: Failure("\(failure.message) \(sentence)", failure.status)
        case let error as DefaultsError: Failure("\(error) \(sentence)", ExitStatus(error))
        default: Failure("\(error). \(sentence)", .inputOutput)
        }
    }
}
