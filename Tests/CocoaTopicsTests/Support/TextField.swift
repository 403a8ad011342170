import Observation

/// A stand-in for NSTextField: setting its value acts as the user's typing.
@MainActor
@Observable
final class TextField {
    var value = ""
}
