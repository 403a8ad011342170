public import DefaultsKit
public import Foundation

extension DefaultsProblem: LocalizedError {
    /// The whole sentence that `description` is, so that `localizedDescription` and alerts show it.
    public var errorDescription: String? { description }
}
