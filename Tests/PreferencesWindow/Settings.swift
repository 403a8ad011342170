import Observation

/// What the window shows, as the user edits it.
@MainActor
@Observable
final class Settings {
    var name = ""
    var quality = 0.0
    var isSilent = false
    var color: Color?
}
