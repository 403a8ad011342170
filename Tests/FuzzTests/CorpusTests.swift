import Foundation
import FuzzTargets
import Testing

/// Tests with the seeds, and with the inputs for which fuzzing found a bug that has been fixed.
@Suite("The fuzzers' corpora")
struct CorpusTests {
    private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "Corpora")

    @Test("Every input in a corpus passes its target's checks", arguments: FuzzTarget.allCases)
    func replay(target: FuzzTarget) throws {
        let directory = Self.directory.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        #expect(files.count >= 5)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            #expect(throws: Never.self, "\(file.lastPathComponent)") { try target.check(bytes) }
            // Truncated inputs, such as torn files, must pass too.
            for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 64)) {
                #expect(throws: Never.self, "\(count) bytes of \(file.lastPathComponent)") {
                    try target.check(Array(bytes.prefix(count)))
                }
            }
        }
    }
}
