import Foundation
import PropertyList
import Testing

/// Tests with archives of `NSKeyedArchiver`, whose objects refer to each other by numbers of a special type.
@Suite("Keyed archives")
struct ArchiveTests {
    @Test("An archive converted to XML and back is unarchived unchanged")
    func throughXML() throws {
        let object: NSDictionary = ["name": "value", "list": ["a", "b"] as NSArray, "number": 5]
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
        let archive = try PropertyListValue(parsing: [UInt8](data))
        let text = try archive.write(as: .xml)
        #expect(try PropertyListValue(parsing: text) == archive)
        let again = try PropertyListValue(parsing: text).write(as: .binary)
        for bytes in [text, again] {
            let unarchived = try NSKeyedUnarchiver.unarchivedObject(
                ofClasses: [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self], from: Data(bytes))
            #expect(unarchived as? NSDictionary == object)
        }
    }

    @Test("A dictionary that XML stores as an object number becomes one in asStored(in:)")
    func stored() throws {
        let value: PropertyListValue = ["a": ["CF$UID": 5], "b": ["CF$UID": -1], "c": .uid(7), "d": ["CF$UID": "5"]]
        let stored: PropertyListValue = ["a": .uid(5), "b": ["CF$UID": -1], "c": .uid(7), "d": ["CF$UID": "5"]]
        #expect(value.asStored(in: .xml) == stored)
        #expect(try PropertyListValue(parsing: value.write(as: .xml)) == stored)
        #expect(try PropertyListValue(parsing: value.write(as: .binary)) == value)
        #expect(try PropertyListValue(parsing: value.writeTypedOldStyle()) == stored)
    }

    @Test("A file whose only key is CF$UID stays a dictionary with that key")
    func wholeFile() throws {
        let value: PropertyListValue = ["CF$UID": 5]
        let read = try PropertyListDocument(reading: value.write(as: .xml), limits: PropertyListLimits())
        #expect(read.value == value)
        let number = try PropertyListDocument(
            reading: PropertyListValue.uid(5).write(as: .binary), limits: PropertyListLimits())
        #expect(number.value == .uid(5))
    }
}
