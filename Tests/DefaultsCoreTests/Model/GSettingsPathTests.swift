import DefaultsCore
import Linux
import TestSupport
import Testing

@Suite("Domains of paths of GSettings")
struct GSettingsPathTests {
    /// The vectors that the backend is checked by, too: a key's name and its domain.
    private static let vectors: [(path: String, domain: String)] = {
        let root = Path.directory(of: Path.directory(of: Path.directory(of: Path.directory(of: #filePath))))
        let text = (try? RawFile.read("\(root)/Tests/GSettings/vectors.txt")) ?? []
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        return lines.drop { $0 != "[paths]" }.dropFirst().compactMap { line in
            let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(trimmed)
            guard fields.count == 3, let slash = fields[0].lastIndex(of: "/") else { return nil }
            return (String(fields[0][...slash]), fields[1])
        }
    }()

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.last == " " { text.removeLast() }
        while text.first == " " { text.removeFirst() }
        return String(text)
    }

    @Test("A path has the same domain as in the backend")
    func table() {
        #expect(Self.vectors.count > 10)
        for (path, domain) in Self.vectors {
            #expect(DomainName(gsettingsPath: path)?.description == domain, "\(path)")
        }
    }

    @Test("Text that doesn't begin and end with a slash is no path", arguments: ["", "a/", "/a", "a.b", "/a\0/"])
    func others(text: String) {
        #expect(DomainName(gsettingsPath: text) == nil)
    }
}
