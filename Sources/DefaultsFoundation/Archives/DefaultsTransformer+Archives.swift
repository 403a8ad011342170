public import DefaultsBindings
public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsTransformer where Stored == Data?, Presented: UnarchivedObject {
    /// A transformer between archived data and its object, like Cocoa's `NSUnarchiveFromData`, but with secure coding
    /// only.
    ///
    /// It presents `nil` if there is no data or if the data isn't an archive of the class, and reports the latter as
    /// `unarchivedObject(of:forKey:)` does. It stores an object as an archive, and `nil` as the absence of a value.
    ///
    /// ```swift
    /// controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
    /// ```
    public static var unarchiveFromData: Self {
        Self(
            present: { data in
                let value = data.map { PropertyListValue.data([UInt8]($0)) }
                return Presented(
                    object: object(in: value) { DefaultsKit.UserDefaults.report(problem("The data", because: $0)) })
            },
            presentBound: { data, value, key in
                // The key's default value stands in for a value of another type.
                let archive = data.map { PropertyListValue.data([UInt8]($0)) } ?? value
                return Presented(
                    object: object(in: archive) { failure in key.report(value) { problem($0, because: failure) } })
            },
            store: { presented in try presented.object.map { Data(try KeyedArchive(archiving: $0).bytes) } })
    }

    @Sendable
    private static func object(
        in value: PropertyListValue?, _ tell: (ArchiveFailure) -> Void
    ) -> Presented.Object? {
        guard let value else { return nil }
        return KeyedArchive.object(of: [Presented.Object.self], in: value, tell) as? Presented.Object
    }

    @Sendable
    private static func problem(_ what: String, because failure: ArchiveFailure) -> DefaultsProblem {
        KeyedArchive.problem(what, as: [Presented.Object.self], because: failure)
    }
}
