import Observation

/// In place of NSTextField: a user types into it by setting its value.
@MainActor
@Observable
final class TextField {
    var value = ""
}
