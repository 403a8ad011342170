/// A value that several threads may use though its type doesn't say so: Foundation's `UserDefaults`, by its documentation.
struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
