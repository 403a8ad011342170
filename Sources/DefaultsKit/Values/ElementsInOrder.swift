/// An array of any element type.
///
/// A cast to `[Any]` would take Foundation's `NSArray` too, and lose the types of its elements; DefaultsFoundation conforms
/// that class.
package protocol ElementsInOrder {
    /// The elements.
    var elements: [Any] { get }
}

extension Array: ElementsInOrder {
    package var elements: [Any] { self }
}

extension ArraySlice: ElementsInOrder {
    package var elements: [Any] { Array(self) }
}

extension ContiguousArray: ElementsInOrder {
    package var elements: [Any] { Array(self) }
}
