import DefaultsKit
import Foundation

enum Theme: String, DefaultsValue { case light, dark }

struct Window: Codable, Equatable, DefaultsValue {
    var title = "untitled"
    var size = [1, 2]
    var opened: Date?
}

/// A value that no property list can hold.
struct Unstorable: DefaultsValue, Equatable {
    struct Failure: Error {}

    init() {}

    init?(propertyListValue: PropertyListValue) { nil }

    var propertyListValue: PropertyListValue? {
        get throws { throw Failure() }
    }
}

extension DefaultsKey where Value == Int {
    static var width: Self { Self("width", default: 1) }
    static var height: Self { Self("height", default: 2) }
}

extension DefaultsKey where Value == String? {
    static var name: Self { Self("name") }
}

extension DefaultsKey where Value == Theme {
    static var theme: Self { Self("theme", default: .light) }
}

extension DefaultsKey where Value == Unstorable {
    static var unstorable: Self { Self("unstorable", default: Unstorable()) }
}
