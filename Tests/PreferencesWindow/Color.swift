import Foundation

/// A color, as shown by the window's color well.
final class Color: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    private static let named = ["red": [1.0, 0, 0], "green": [0, 1.0, 0], "blue": [0, 0, 1.0]]

    private let components: [Double]

    init?(named name: String) {
        guard let components = Self.named[name] else { return nil }
        self.components = components
    }

    init?(coder: NSCoder) {
        components = ["red", "green", "blue"].map { coder.decodeDouble(forKey: $0) }
    }

    func encode(with coder: NSCoder) {
        for (key, component) in zip(["red", "green", "blue"], components) { coder.encode(component, forKey: key) }
    }

    override var description: String { components.map { "\($0)" }.joined(separator: "/") }
}
