import Foundation

/// An object that holds one of each of Foundation's classes that an archive often has.
final class Palette: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    override init() {}

    func encode(with coder: NSCoder) {
        coder.encode(0.5, forKey: "real")
        coder.encode(true, forKey: "flag")
        coder.encode(["k": NSDate()] as NSDictionary, forKey: "dictionary")
        coder.encode(NSSet(array: ["q" as NSString]), forKey: "set")
        coder.encode(NSData(data: Data([1, 2])), forKey: "data")
        coder.encode(NSUUID(), forKey: "uuid")
        coder.encode(NSURL(string: "b", relativeTo: URL(string: "http://a/")), forKey: "url")
        coder.encode(Color(name: "sky", components: [0.5]), forKey: "color")
    }

    init?(coder: NSCoder) {
        _ = coder.decodeDouble(forKey: "real")
        _ = coder.decodeBool(forKey: "flag")
        _ = coder.decodeObject(of: [NSDictionary.self, NSString.self, NSDate.self], forKey: "dictionary")
        _ = coder.decodeObject(of: [NSSet.self, NSString.self], forKey: "set")
        _ = coder.decodeObject(of: NSData.self, forKey: "data")
        _ = coder.decodeObject(of: NSUUID.self, forKey: "uuid")
        _ = coder.decodeObject(of: NSURL.self, forKey: "url")
        _ = coder.decodeObject(of: Color.self, forKey: "color")
    }
}
