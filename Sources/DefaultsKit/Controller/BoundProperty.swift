/// A property of an object and its key, kept the same.
protocol BoundProperty: AnyObject {
    /// Takes over what has changed on one side to the other.
    ///
    /// - Returns: false when the object is gone.
    func synchronize() -> Bool

    /// Passes the property's value to the controller, if it was edited.
    func commit()
}
