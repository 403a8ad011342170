import Foundation
import Glibc
import PropertyList

/// Directories with any number of domains.
enum DomainFiles {
    static func name(_ number: Int) -> String { "org.example.app\(number)" }

    /// Creates a directory whose first domain has the given number of keys, and whose other domains have twenty each.
    ///
    /// - Returns: The directory's path.
    static func make(_ domains: Int, keys: Int = 20, at place: BenchEnvironment) throws -> String {
        let directory = "\(place.path)/\(domains)-\(keys)-\(UUID().uuidString.prefix(4))"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let (first, other) = (try bytes(keys), try bytes(20))
        for number in 0..<domains {
            try (number == 0 ? first : other).write(to: URL(fileURLWithPath: "\(directory)/\(name(number)).plist"))
        }
        // The next measurement shouldn't wait for the disk to finish writing these files.
        sync()
        return directory
    }

    private static func bytes(_ keys: Int) throws -> Data {
        let values = Dictionary(
            uniqueKeysWithValues: (0..<keys).map { ("key\($0)", PropertyListValue.integer(Int64($0))) })
        return Data(try PropertyListValue.dictionary(values).write(as: .binary))
    }
}
