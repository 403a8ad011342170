import Observation

/// A stand-in for the documents' custom view, which redraws itself when it gets a new color.
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
