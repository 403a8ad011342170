import Foundation
import Testing

/// The table in Topics.md lists each test of this target exactly once, and no other tests.
@Suite("The table of topics")
struct FromCocoaTests {
    private let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: directory.appending(path: path), encoding: .utf8)
    }

    /// Returns the names of the tests in their source files, except this one; each test must have a name and be
    /// enabled.
    private func tests() throws -> [String] {
        var names: [String] = []
        for chapter in ["ProgrammingTopics", "AboutTheSystem", "Nutshell"] {
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.appending(path: chapter).path)
            for file in files {
                let source = try text("\(chapter)/\(file)")
                let found = source.matches(of: /@Test\(\s*"([^"]+)"/).map { String($0.1) }
                #expect(found.count == source.matches(of: /@Test/).count, "\(file)")
                #expect(!source.contains(".disabled") && !source.contains(".enabled"), "\(file)")
                names += found
            }
        }
        return names.sorted()
    }

    @Test("The table names each test once")
    func table() throws {
        let rows = try text("Topics.md").split(separator: "\n").filter { $0.hasPrefix("| ") }
        var named: [String] = []
        var isOfTests = false
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let cell = cells.last ?? ""
            if cells.first == "---" { continue }
            if ["test", "here"].contains(cell) {
                isOfTests = cell == "test"
            } else if isOfTests, !cell.hasPrefix("none: ") {
                named.append(cell)
            }
        }
        let tests = try tests()
        #expect(named.filter { !tests.contains($0) } == [])
        #expect(tests.filter { !named.contains($0) } == [])
        #expect(Set(named).count == named.count)
        #expect(tests.count > 60)
    }
}
