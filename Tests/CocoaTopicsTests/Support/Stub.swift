import DefaultsFoundation
import DefaultsKit
import Foundation

extension DefaultsTransformer where Stored == Data?, Presented == Color? {
    static var unarchiveFromData: Self {
        Self(
            present: { $0.flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: Color.self, from: $0) } },
            store: { try $0.map { try NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) } })
    }
}
