import DefaultsKit
import Foundation
import PropertyList

extension KeyedArchive {
    /// The object that a value is an archive of; nil for none, when the reason is told.
    static func object(
        of classes: [AnyClass], in value: PropertyListValue, _ tell: (ArchiveFailure) -> Void
    ) -> NSObject? {
        do throws(ArchiveFailure) {
            guard case .data(let bytes) = value else { throw ArchiveFailure("its value is not data") }
            return try KeyedArchive(bytes).object(of: classes)
        } catch {
            tell(error)
            return nil
        }
    }

    /// That what is stored gives no object.
    static func problem(_ what: String, _ classes: [AnyClass], _ failure: ArchiveFailure) -> DefaultsProblem {
        let names = classes.map { "\($0)" }.formatted(.list(type: .or).locale(Locale(identifier: "en")))
        return DefaultsProblem(
            .archive, describedBy: "\(what) gives no \(names): \(failure). Remove the key, or set it again.")
    }
}
