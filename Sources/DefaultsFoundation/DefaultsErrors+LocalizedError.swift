public import DefaultsKit
public import Foundation
public import PropertyList

extension DefaultsProblem: LocalizedError {
    /// The same sentence as `description`, so that `localizedDescription` and alerts show it.
    public var errorDescription: String? { description }
}

extension PropertyListError: LocalizedError {
    /// The same sentence as `description`, so that `localizedDescription` and alerts show it.
    public var errorDescription: String? { description }
}
