import Foundation

/// A stand-in for NSFont: another object that can be archived.
final class Font: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    let name: String
    let size: Int

    init(name: String, size: Int) {
        self.name = name
        self.size = size
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
        self.name = name as String
        size = coder.decodeInteger(forKey: "size")
    }

    func encode(with coder: NSCoder) {
        coder.encode(name as NSString, forKey: "name")
        coder.encode(size, forKey: "size")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Font else { return false }
        return (name, size) == (other.name, other.size)
    }

    override var hash: Int { name.hashValue }
}
