/// An array of any element type.
///
/// A cast to `[Any]` would take Foundation's `NSArray` too, and lose the types of its elements.
protocol ElementsInOrder {
    /// The elements.
    var elements: [Any] { get }
}

extension Array: ElementsInOrder {
    var elements: [Any] { self }
}

extension ArraySlice: ElementsInOrder {
    var elements: [Any] { Array(self) }
}

extension ContiguousArray: ElementsInOrder {
    var elements: [Any] { Array(self) }
}
