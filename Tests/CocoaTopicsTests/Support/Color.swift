import Foundation

/// A stand-in for NSColor: a color that can be archived.
final class Color: NSObject, NSSecureCoding, Sendable {
    static let supportsSecureCoding = true
    static let red = Color(red: 1, green: 0, blue: 0)
    static let blue = Color(red: 0, green: 0, blue: 1)

    let red: Double
    let green: Double
    let blue: Double

    init(red: Double, green: Double, blue: Double) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    init?(coder: NSCoder) {
        red = coder.decodeDouble(forKey: "red")
        green = coder.decodeDouble(forKey: "green")
        blue = coder.decodeDouble(forKey: "blue")
    }

    func encode(with coder: NSCoder) {
        coder.encode(red, forKey: "red")
        coder.encode(green, forKey: "green")
        coder.encode(blue, forKey: "blue")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Color else { return false }
        return (red, green, blue) == (other.red, other.green, other.blue)
    }

    override var hash: Int { [red, green, blue].hashValue }
}
