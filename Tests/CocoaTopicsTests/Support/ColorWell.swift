import Observation

/// In place of NSColorWell: a user chooses a colour by setting its value.
@MainActor
@Observable
final class ColorWell {
    var value: Color?
}
