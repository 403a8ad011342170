/// A value that several threads may use though its type doesn't say so.
struct Shared<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
