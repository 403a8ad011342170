import Foundation

/// An object that is encoded as a test specifies.
final class Box: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    var content: Any?
    private let body: (Box, NSCoder) -> Void

    init(_ content: Any? = nil, _ body: @escaping (Box, NSCoder) -> Void = { $1.encode($0.content, forKey: "content") })
    {
        self.content = content
        self.body = body
    }

    func encode(with coder: NSCoder) { body(self, coder) }

    init?(coder: NSCoder) {
        body = { _, _ in }
        content = coder.decodeObject(
            of: [NSArray.self, NSDictionary.self, NSNumber.self, NSString.self, Box.self], forKey: "content")
    }
}
