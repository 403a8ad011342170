import DefaultsKit

extension DefaultsKey where Value == String {
    static var message: Self { Self("message", default: "(none)") }
}
