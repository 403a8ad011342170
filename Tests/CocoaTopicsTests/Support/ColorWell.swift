import Observation

/// A stand-in for NSColorWell: setting its value acts as the user's choice of a color.
@MainActor
@Observable
final class ColorWell {
    var value: Color?
}
