import Observation

/// In place of the documents' custom view, which draws itself anew when it is given a colour.
@MainActor
@Observable
final class ColorBox {
    var backgroundColor: Color? {
        didSet { needsDisplay = true }
    }
    private(set) var needsDisplay = false

    /// Draws itself.
    func display() { needsDisplay = false }
}
