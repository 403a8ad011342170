/// A thread-safe value whose type isn't declared Sendable, such as Foundation's `UserDefaults`, which is documented as
/// thread-safe.
struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
