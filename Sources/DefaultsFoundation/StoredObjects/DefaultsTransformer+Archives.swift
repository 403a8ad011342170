public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsTransformer where Stored == Data?, Presented: UnarchivedObject {
    /// The object that the data is an archive of, and back; Cocoa's `NSUnarchiveFromData`, but with secure coding alone.
    ///
    /// It presents `nil` where there is no data, and where the data is no archive of the class, which `UserDefaults.onProblem`
    /// is told, just as `unarchivedObject(of:forKey:)` does. An object is stored as it is archived, and `nil` as no value.
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
                // A key's own default stands for a value of another type.
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
