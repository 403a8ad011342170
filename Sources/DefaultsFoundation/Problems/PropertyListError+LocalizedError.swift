public import Foundation
public import PropertyList

extension PropertyListError: LocalizedError {
    /// The whole sentence that `description` is, so that `localizedDescription` and alerts show it.
    public var errorDescription: String? { description }
}
