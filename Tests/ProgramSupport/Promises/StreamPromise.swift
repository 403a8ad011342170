package import DefaultsCore

/// A promise of the bus that can be checked event by event in one subscriber's stream.
///
/// The subscriber follows all records that match its filter (`everything`), starting with a snapshot.
package protocol StreamPromise: Sendable {
    /// The promise's name, as in the documentation.
    static var name: String { get }

    /// Checks the next event.
    ///
    /// - Parameter event: The event.
    /// - Returns: A description of the breach, if there is one.
    mutating func take(_ event: StreamEvent) -> String?
}
