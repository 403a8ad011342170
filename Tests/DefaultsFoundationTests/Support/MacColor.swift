import Foundation

/// A color as archived by a Mac.
final class MacColor: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    let components: [Double]

    func encode(with coder: NSCoder) {}

    init?(coder: NSCoder) {
        let bytes = coder.withDecodedUnsafeBytes(forKey: "NSRGB") { $0.map { [UInt8]($0) } }
        guard let bytes else { return nil }
        components = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap {
            Double($0.prefix { $0 != "\0" })
        }
    }
}
