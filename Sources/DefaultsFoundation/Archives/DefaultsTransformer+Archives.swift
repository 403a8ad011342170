public import DefaultsBindings
public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsTransformer where Stored == Data?, Presented: UnarchivedObject {
    /// A transformer between archived data and its object, like Cocoa's `NSUnarchiveFromData`, but with secure coding
    /// only.
    ///
    /// It presents `nil` if there is no data, and if the data is not an archive of the class, which it reports as
    /// `unarchivedObject(of:forKey:)` does. It stores an object as its archive, and `nil` as no value.
    ///
    /// ```swift
    /// controller.bind(colorWell, \.color, to: "theColor", transformer: .unarchiveFromData)
    /// ```
    public static var unarchiveFromData: Self {
        Self(
            present: { data in
                let value = data.map { PropertyListValue.data([UInt8]($0)) }
                return Presented(object: object(in: value) { DefaultsKit.UserDefaults.report(problem("The data", $0)) })
            },
            presentBound: { data, value, key in
                // A key's own default stands in for a value of another type.
                let archive = data.map { PropertyListValue.data([UInt8]($0)) } ?? value
                return Presented(
                    object: object(in: archive) { failure in key.report(value) { problem($0, failure) } })
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
    private static func problem(_ what: String, _ failure: ArchiveFailure) -> DefaultsProblem {
        KeyedArchive.problem(what, [Presented.Object.self], failure)
    }
}
