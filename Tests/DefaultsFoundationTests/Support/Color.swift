import Foundation

/// A color as an object with secure coding.
final class Color: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    let name: String
    let components: [Double]

    init(name: String, components: [Double]) {
        self.name = name
        self.components = components
    }

    func encode(with coder: NSCoder) {
        coder.encode(name as NSString, forKey: "name")
        coder.encode(components.map { NSNumber(value: $0) } as NSArray, forKey: "components")
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
            let numbers = coder.decodeObject(of: [NSArray.self, NSNumber.self], forKey: "components") as? [NSNumber]
        else { return nil }
        self.name = "\(name)"
        components = numbers.map(\.doubleValue)
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Color else { return false }
        return name == other.name && components == other.components
    }

    override var hash: Int { name.hashValue }
}
