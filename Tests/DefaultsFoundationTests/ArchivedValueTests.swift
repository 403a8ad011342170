import DefaultsKit
import Foundation
import PropertyList
import Testing

@testable import DefaultsFoundation

/// A type that keeps an object, as the documentation shows.
private struct Tint: DefaultsValue, Equatable {
    let color: [Double]

    init(color: [Double]) { self.color = color }

    init?(propertyListValue: PropertyListValue) {
        guard let array = try? propertyListValue.unarchivedObject(of: NSArray.self) as? [Double] else { return nil }
        self.init(color: array)
    }

    var propertyListValue: PropertyListValue? {
        get throws { try PropertyListValue(archiving: color as NSArray) }
    }
}

@Suite("Objects archived in values")
struct ArchivedValueTests {
    private let defaults = DefaultsKit.UserDefaults(inMemory: [:])

    @Test("An archived value is the same as set(archiving:) stores, and returns the object")
    func bothWays() throws {
        let date = NSDate(timeIntervalSinceReferenceDate: 5)
        let value = try PropertyListValue(archiving: date)
        defaults.set(archiving: date, forKey: "date")
        #expect(defaults.propertyListValue(forKey: "date") == value)
        #expect(try value.unarchivedObject(of: NSDate.self) == date)
    }

    @Test("Foundation's own unarchiver reads an archived value")
    func foundation() throws {
        let text = "0F0F0F0F-0000-4000-8000-000000000001"
        let value = try PropertyListValue(archiving: try #require(NSUUID(uuidString: text)))
        guard case .data(let bytes) = value else {
            Issue.record("The value should be data.")
            return
        }
        let uuid = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSUUID.self, from: Data(bytes))
        #expect(uuid?.uuidString == text)
    }

    @Test("A typed key keeps an object, including in a transaction")
    func typedKey() {
        let key = DefaultsKey<Tint?>("tint")
        defaults.withTransaction { values in values[key] = Tint(color: [0.5, 1]) }
        #expect(defaults[key] == Tint(color: [0.5, 1]))
    }

    @Test("An object that can't be archived is an error that names its class")
    func refused() {
        let error = #expect(throws: DefaultsProblem.self) {
            try PropertyListValue(archiving: NSArray(array: [NSDecimalNumber(value: 1)]))
        }
        #expect(error?.code == .archive)
        #expect(error?.description.contains("NSDecimalNumber") == true, "\(error?.description ?? "none")")
    }

    @Test("A value that isn't an archive of the class is an error with a reason")
    func unreadable() throws {
        for (value, reason) in [
            (PropertyListValue.integer(5), "its value is not data"), (.data([1, 2]), "it is not a keyed archive"),
            (.data([4, 11] + Array("streamtyped".utf8)), "it is a sequential archive, written by NSArchiver"),
            (try PropertyListValue(archiving: NSDate()), "NSDate is not one of the requested classes"),
        ] {
            let error = #expect(throws: DefaultsProblem.self) { try value.unarchivedObject(of: NSArray.self) }
            let description = error?.description ?? "none"
            #expect(description.contains("can't be unarchived as NSArray: \(reason)"), "\(description)")
        }
    }
}
