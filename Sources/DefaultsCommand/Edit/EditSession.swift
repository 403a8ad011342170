import DefaultsCore
import DefaultsKit
import Glibc
import PropertyList

/// A run of `edit`: shows a domain, and sets what was changed.
struct EditSession {
    let place: DomainPlace
    let options: PlaceOptions
    let isXML: Bool

    func run() throws {
        let before = try options.open(place).valuesIfAny(
            "You edit the last good state. \(OpenDomain.replacement)")
        let path = try options.directory(of: place).path(of: place.domain)
        let text = try EditableText(before, title: "\(place.domain) in \(path)", isXML: isXML)
        let file = try PrivateFile(named: "\(place.domain.name).plist", text.bytes)
        do {
            let changes = try edit(text, file)
            if changes.isEmpty {
                Failure.note("Nothing was changed in \(place.name).")
            } else {
                try set(changes, before)
            }
        } catch {
            throw isKept(file, text) ? Self.adding("Your text is kept in \(file.path).", to: error) : error
        }
        file.remove()
    }

    /// Has the person edit until the text can be read, and gives what they changed.
    private func edit(_ text: EditableText, _ file: PrivateFile) throws -> Difference {
        let editor = Editor(.current)
        while true {
            let status = try editor.edit(file.path)
            guard status == 0 else {
                throw Failure(
                    "The editor \"\(editor.command)\" ended with status \(status); nothing is set.", .unavailable)
            }
            do throws(Failure) {
                return try text.changes(in: file.read(), at: file.path)
            } catch {
                // A file that is gone is another matter than one that can't be understood.
                guard error.status == .dataError else { throw error }
                guard wantsToGoOn(after: error) else { throw Failure("Given up; nothing is set.", .dataError) }
            }
        }
    }

    /// Asks what to do about a text that can't be read.
    private func wantsToGoOn(after error: Failure) -> Bool {
        Failure.note(error.message)
        Failure.note("Press Enter to go on editing, or type q and Enter to give up.")
        guard let answer = readLine() else { return false }
        return !answer.lowercased().hasPrefix("q")
    }

    private func set(_ changes: Difference, _ before: DomainValues) throws {
        // The agent that was there may be another one by now.
        let open = try options.open(place)
        let now = try open.backend.snapshot(of: open.domain).values
        for key in changes.keys.sorted() where now[key] != before[key] && changes[key] != .some(now[key]) {
            Failure.note("\"\(key)\" was changed elsewhere meanwhile; what you set replaces that.")
        }
        try open.edit(changes)
    }

    /// Whether a text that isn't applied is worth keeping; else it is removed.
    private func isKept(_ file: PrivateFile, _ text: EditableText) -> Bool {
        // One that is gone was removed by the person.
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
