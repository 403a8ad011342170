import Foundation
import PropertyList

extension KeyedArchiveEncoder {
    /// Returns the plain value (text, a number or data) that represents an object in an archive, or `nil` if there is
    /// none.
    func plainValue(of object: NSObject) throws(ArchiveFailure) -> PropertyListValue? {
        if let number = object as? NSNumber, !(object is NSDecimalNumber) {
            // The encoding of a subclass is unknown.
            return isOwn(object) ? number.propertyListValue : nil
        }
        return switch try foundationClass(of: object) {
        case .string: .string("\(object)")
        case .data: (object as? NSData).map { .data([UInt8](Data(referencing: $0))) }
        default: nil
        }
    }

    /// Returns the Foundation class that an object is archived as; `nil` if the program defines the object's class.
    func foundationClass(of object: NSObject) throws(ArchiveFailure) -> FoundationClass? {
        guard isOwn(object) else { return nil }
        // Foundation has hidden subclasses, for example for Swift values.
        let names = sequence(first: type(of: object) as AnyClass) { _getSuperclass($0) }.lazy
            .map { ArchivedClassName($0).description }
        let name = names.first { !$0.hasPrefix("_") } ?? ""
        guard let type = FoundationClass(rawValue: name) else {
            // A collection wraps Swift structures in a box.
            if name == "NSObject", let value = Mirror(reflecting: object).descendant("value") {
                throw noObject(value)
            }
            throw ArchiveFailure("the Foundation class \(name) isn't supported")
        }
        return type
    }

    /// Returns the failure for a value that isn't an object, such as one of the program's structures.
    func noObject(_ value: Any) -> ArchiveFailure {
        ArchiveFailure("\(String(reflecting: type(of: value))) is not an object that can be archived")
    }

    private func isOwn(_ object: NSObject) -> Bool { FoundationClass.isFoundations(type(of: object)) }

    /// Returns the fields of an object of a Foundation class, under the keys that Foundation uses.
    func fields(
        of object: NSObject, as type: FoundationClass
    ) throws(ArchiveFailure) -> [String: PropertyListValue] {
        switch type {
        case .string, .mutableString: return ["NS.string": .string("\(object)")]
        case .data, .mutableData:
            return ["NS.data": .data((object as? NSData).map { [UInt8](Data(referencing: $0)) } ?? [])]
        case .date:
            guard let seconds = (object as? NSDate)?.timeIntervalSinceReferenceDate, seconds.isFinite else {
                throw ArchiveFailure("a date is not a number")
            }
            return ["NS.time": .real(seconds)]
        case .null: return [:]
        case .array, .mutableArray:
            guard let array = object as? NSArray else { return [:] }
            let elements = contents(of: array, count: array.count) ?? array.map(\.self)
            return ["NS.objects": .array(try references(to: elements))]
        case .set, .mutableSet:
            guard let set = object as? NSSet else { return [:] }
            let elements = try inOrder(try hashables(contents(of: set, count: set.count) ?? set.allObjects))
            return ["NS.objects": .array(try references(to: elements))]
        case .orderedSet, .mutableOrderedSet:
            let elements = try references(to: try hashables((object as? NSOrderedSet)?.array ?? []))
            // As in Foundation, this class doesn't use the archiver's encoding of lists.
            return Dictionary(uniqueKeysWithValues: elements.enumerated().map { ("NS.object.\($0)", $1) })
        case .dictionary, .mutableDictionary:
            guard let dictionary = object as? NSDictionary else { return [:] }
            let keys = try inOrder(try hashables(dictionary.allKeys))
            let entries = contents(of: dictionary, count: dictionary.count)?.compactMap {
                $0 as? (key: NSObject, value: AnyObject)
            }
            let objects = Dictionary(entries?.map { ($0.key, $0.value) } ?? []) { $1 }
            let values = keys.compactMap { key in
                (key as? NSObject).flatMap { objects[$0] } ?? dictionary.object(forKey: key)
            }
            return ["NS.keys": .array(try references(to: keys)), "NS.objects": .array(try references(to: values))]
        case .url:
            guard let url = object as? NSURL else { return [:] }
            return ["NS.base": try reference(to: url.baseURL), "NS.relative": try reference(to: url.relativeString)]
        case .uuid:
            let uuid = (object as? NSUUID).flatMap { UUID(uuidString: $0.uuidString) } ?? UUID()
            return ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) })]
        case .locale:
            return ["NS.identifier": try reference(to: (object as? NSLocale)?.object(forKey: .identifier))]
        case .timeZone:
            guard let zone = object as? NSTimeZone else { return [:] }
            return ["NS.name": try reference(to: zone.name), "NS.data": try reference(to: zone.data)]
        }
    }

    /// Returns the stored objects of a collection, or `nil` if it doesn't expose them.
    ///
    /// The collection's own methods return Swift values instead: immutable copies without identity. If the collection
    /// contains itself, these methods never return.
    private func contents(of collection: NSObject, count: Int) -> [Any]? {
        let contents = Mirror(reflecting: collection).children.map(\.value)
        return contents.count == count ? contents : nil
    }

    private func references(to elements: [Any]) throws(ArchiveFailure) -> [PropertyListValue] {
        try elements.map { element throws(ArchiveFailure) in try reference(to: element) }
    }

    /// Returns the elements of a set, or the keys of a dictionary, after checking that they can be decoded.
    private func hashables(_ elements: [Any]) throws(ArchiveFailure) -> [Any] {
        guard !elements.contains(where: { $0 is NSArray || $0 is NSDictionary }) else {
            throw ArchiveFailure("a set or the keys of a dictionary contain an array or a dictionary")
        }
        return elements
    }

    /// Returns plain values in a reproducible order, followed by the other elements in their original order.
    private func inOrder(_ elements: [Any]) throws(ArchiveFailure) -> [Any] {
        var plain: [(name: String, element: Any)] = []
        var others: [Any] = []
        for element in elements {
            if let object = element as? NSObject, let value = try plainValue(of: object) {
                plain.append(("\(value)", element))
            } else {
                others.append(element)
            }
        }
        return plain.sorted { $0.name < $1.name }.map(\.element) + others
    }
}
