import DefaultsFoundation
import DefaultsKit
import Foundation
import PropertyList
import TestSupport

extension Tampering {
    /// Tries every variant of an object's archive that differs in one place, under the key "tampered".
    static func tryAll(
        of object: some NSObject & NSSecureCoding, _ attempt: (DefaultsKit.UserDefaults) -> Void
    ) throws {
        let (defaults, archive) = try archive(of: object)
        for tampered in each(of: archive) {
            guard let bytes = try? tampered.write(as: .binary) else { continue }
            defaults.set(Data(bytes), forKey: "tampered")
            attempt(defaults)
        }
    }

    /// Tries random variants of an object's archive: some that differ in two places, and some with different bytes.
    static func tryAtRandom(
        of object: some NSObject & NSSecureCoding, _ count: Int, seed: UInt64,
        _ attempt: (DefaultsKit.UserDefaults) -> Void
    ) throws {
        let (defaults, archive) = try archive(of: object)
        let bytes = try archive.write(as: .binary)
        var random = PseudoRandom(seed: seed)
        for number in 0..<count {
            // Printed so that a crash can be reproduced.
            print("seed \(seed), number \(number)")
            let twice = somewhere(in: somewhere(in: archive, using: &random), using: &random)
            for tampered in [try? twice.write(as: .binary), somewhere(in: bytes, using: &random)].compactMap(\.self) {
                defaults.set(Data(tampered), forKey: "tampered")
                attempt(defaults)
            }
        }
    }

    private static func archive(
        of object: some NSObject & NSSecureCoding
    ) throws -> (DefaultsKit.UserDefaults, PropertyListValue) {
        DefaultsKit.UserDefaults.setProblemHandler { _ in }
        let defaults = DefaultsKit.UserDefaults(inMemory: [:])
        defaults.set(archiving: object, forKey: "tampered")
        return (defaults, try PropertyListValue(parsing: [UInt8](defaults.data(forKey: "tampered") ?? Data())))
    }
}
