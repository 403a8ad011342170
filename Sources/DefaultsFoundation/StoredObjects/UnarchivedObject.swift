public import Foundation

/// An object that may have been archived, or none: what `DefaultsTransformer.unarchiveFromData` presents.
///
/// It is an `Optional` of a class with secure coding, and nothing else need conform to it.
public protocol UnarchivedObject: SendableMetatype {
    /// The class.
    associatedtype Object: NSObject & NSSecureCoding
    /// The object, if there is one.
    var object: Object? { get }
    /// Makes it of an object or none.
    init(object: Object?)
}

extension Optional: UnarchivedObject where Wrapped: NSObject & NSSecureCoding & SendableMetatype {
    /// The object, if there is one.
    public var object: Wrapped? { self }
    /// Makes it of an object or none.
    public init(object: Wrapped?) { self = object }
}
