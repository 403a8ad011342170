import Observation

/// The values that the window shows and the user edits.
@MainActor
@Observable
final class Settings {
    var name = ""
    var quality = 0.0
    var isSilent = false
    var color: Color?
}
