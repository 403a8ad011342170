/// A thread-safe value whose type isn't declared Sendable: Foundation's `UserDefaults`, by its documentation.
struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
