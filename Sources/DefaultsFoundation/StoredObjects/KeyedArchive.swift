import Foundation
import PropertyList

/// A keyed archive, looked through before `NSKeyedUnarchiver` is given it, which on Linux ends the process for many a
/// damaged one instead of throwing.
///
/// Accepted is a binary property list, all of whose references lead to objects and none back to where it came from, all of
/// whose classes are known here and can be decoded, and whose objects of Foundation's classes have the fields that these
/// take for granted.
struct KeyedArchive {
    /// Deeper ones would exhaust the stack.
    private static let maximumDepth = 128

    private let objects: [PropertyListValue]
    private let top: PropertyListValue

    /// Reads an archive; nil if it isn't one.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: "bplist".utf8),
            case .dictionary(let archive)? = try? PropertyListValue(parsing: bytes),
            archive["$archiver"] == "NSKeyedArchiver", archive["$version"] == 100_000,
            case .array(let objects)? = archive["$objects"], objects.first == "$null",
            case .dictionary(let top)? = archive["$top"], let root = top["root"], case .uid = root
        else { return nil }
        self.objects = objects
        self.top = root
    }

    /// Whether decoding it can't meet what it takes for granted and isn't so.
    var isSound: Bool {
        var states = [State](repeating: .unseen, count: objects.count)
        return isSound(top, &states, depth: 0)
    }

    private enum State { case unseen, underWay, sound }

    private func isSound(_ value: PropertyListValue, _ states: inout [State], depth: Int) -> Bool {
        if depth > Self.maximumDepth { return false }
        switch value {
        case .uid(let number):
            guard let index = Int(exactly: number), index < objects.count else { return false }
            switch states[index] {
            case .sound: return true
            // It would be made of itself.
            case .underWay: return false
            case .unseen: break
            }
            states[index] = .underWay
            guard isObject(objects[index]) else { return false }
            guard isSound(objects[index], &states, depth: depth + 1) else { return false }
            states[index] = .sound
            return true
        case .array(let values):
            return values.allSatisfy { isSound($0, &states, depth: depth + 1) }
        case .dictionary(let fields):
            return fields.allSatisfy { $0 == "$class" || isSound($1, &states, depth: depth + 1) }
        default:
            return true
        }
    }

    /// Whether what a reference leads to is a value, or an object of a known class with the fields it needs.
    private func isObject(_ value: PropertyListValue) -> Bool {
        guard case .dictionary(let fields) = value else {
            if case .array = value { return false }
            if case .uid = value { return false }
            return true
        }
        guard let names = classNames(of: fields), let name = names.first,
            let type = NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name),
            type is any NSSecureCoding.Type
        else { return false }
        return names.allSatisfy { hasFields(of: $0, fields) }
    }

    /// The name of an object's class, and those of its superclasses.
    private func classNames(of fields: [String: PropertyListValue]) -> [String]? {
        guard case .dictionary(let type)? = object(fields["$class"]), case .string(let name)? = type["$classname"],
            case .array(let classes)? = type["$classes"]
        else { return nil }
        var names = [name]
        for entry in classes {
            guard case .string(let name) = entry else { return nil }
            names.append(name)
        }
        return names
    }

    private func hasFields(of name: String, _ fields: [String: PropertyListValue]) -> Bool {
        switch name {
        case "NSArray", "NSSet", "NSOrderedSet":
            return references(fields["NS.objects"]) != nil
        case "NSDictionary":
            guard let keys = references(fields["NS.keys"]) else { return false }
            return keys == references(fields["NS.objects"])
        case "NSDate":
            if case .real? = fields["NS.time"] { return true }
            return false
        case "NSUUID":
            if case .data(let bytes)? = fields["NS.uuidbytes"] { return bytes.count == 16 }
            return false
        case "NSData":
            if case .data? = object(fields["NS.data"]) ?? fields["NS.data"] { return true }
            return false
        case "NSString":
            if case .string? = object(fields["NS.string"]) ?? fields["NS.string"] { return true }
            return false
        case "NSURL":
            guard case .string? = object(fields["NS.relative"]), let base = fields["NS.base"] else { return false }
            if base == .uid(0) { return true }
            guard case .dictionary(let fields)? = object(base) else { return false }
            return classNames(of: fields)?.contains("NSURL") == true
        default:
            return true
        }
    }

    /// How many references an array has; nil if it isn't one of references to objects alone.
    private func references(_ value: PropertyListValue?) -> Int? {
        guard case .array(let values)? = value else { return nil }
        for value in values {
            // The first object stands for none.
            guard case .uid(let number) = value, number > 0 else { return nil }
        }
        return values.count
    }

    private func object(_ reference: PropertyListValue?) -> PropertyListValue? {
        guard case .uid(let number)? = reference, let index = Int(exactly: number), index > 0, index < objects.count
        else {
            return nil
        }
        return objects[index]
    }
}
