import DefaultsCore

/// A promise of the bus that shows in what one subscriber gets, and is held to it event by event.
///
/// The subscriber follows all records of what it asked for (`everything`), from a snapshot on.
protocol StreamPromise: Sendable {
    /// The promise's name, as the documentation prints it.
    static var name: String { get }

    /// Takes the next event.
    ///
    /// - Returns: how it breaks the promise, if it does.
    mutating func take(_ event: StreamEvent) -> String?
}
