import Foundation

/// The files of this repository that tests read.
enum Repository {
    /// The absolute path of the repository.
    static let path = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL.path

    /// Returns the text of a file of the repository.
    static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
    }
}
