public import DefaultsKit
public import Foundation

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
                Presented(
                    object: data.flatMap {
                        KeyedArchive.object(of: Presented.Object.self, in: [UInt8]($0), "A value that is bound")
                    })
            },
            store: { presented in try presented.object.map { Data(try KeyedArchive(archiving: $0).bytes) } })
    }
}
