import DefaultsKit
import Foundation

extension KeyedArchive {
    /// The object that data is an archive of; nil when it is none, which `UserDefaults.onProblem` is told.
    static func object<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, in bytes: [UInt8], _ what: String
    ) -> Object? {
        do {
            return try KeyedArchive(bytes).object(of: type)
        } catch {
            report(what, type, error)
            return nil
        }
    }

    /// Tells that what was stored gives no object.
    static func report(_ what: String, _ type: AnyClass, _ failure: ArchiveFailure) {
        DefaultsKit.UserDefaults.report(
            DefaultsProblem(
                .archive, describedBy: "\(what) gives no \(type): \(failure). Remove the key, or set it again."))
    }
}
