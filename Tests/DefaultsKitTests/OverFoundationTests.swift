import Foundation
import Testing

/// Compares the declarations of DefaultsKit on Linux with those of its layer over Foundation's class, in the sources.
///
/// `.ci/over-foundation` compiles and tests the layer itself.
@Suite("DefaultsKit over Foundation's class")
struct OverFoundationTests {
    /// The members of Foundation's class, and of `NSObject` on Apple's systems, that ours has, too.
    private static let foundation: Set = [
        "==(_:_:)", "addSuite(named:)", "argumentDomain", "array(forKey:)", "bool(forKey:)", "data(forKey:)",
        "description", "dictionary(forKey:)", "dictionaryRepresentation()", "double(forKey:)", "float(forKey:)",
        "globalDomain", "hash(into:)", "init()", "init(suiteName:)", "integer(forKey:)", "isEqual(_:)",
        "object(forKey:)", "objectIsForced(forKey:)", "objectIsForced(forKey:inDomain:)", "persistentDomain(forName:)",
        "register(defaults:)", "registrationDomain", "removeObject(forKey:)", "removePersistentDomain(forName:)",
        "removeSuite(named:)", "removeVolatileDomain(forName:)", "resetStandardUserDefaults()", "set(_:forKey:)",
        "setPersistentDomain(_:forName:)", "setValue(_:forKey:)", "setVolatileDomain(_:forName:)", "standard",
        "string(forKey:)", "stringArray(forKey:)", "synchronize()", "url(forKey:)", "value(forKey:)",
        "volatileDomain(forName:)", "volatileDomainNames",
    ]

    private let linux: Declarations
    private let layer: Declarations
    private let unavailable: Declarations

    init() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/DefaultsKit")
        let paths = try #require(FileManager.default.enumerator(atPath: sources.path)?.allObjects as? [String])
        var (linux, layer, unavailable) = (Declarations(), Declarations(), Declarations())
        for path in paths where path.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            guard text.hasSuffix("#endif\n") else { continue }
            if text.hasPrefix("#if !OVER_FOUNDATION") { linux.add(text) }
            if text.hasPrefix("#if OVER_FOUNDATION") { layer.add(text) }
            if path.hasSuffix("/Unavailable.swift") { unavailable.add(text) }
        }
        (self.linux, self.layer, self.unavailable) = (linux, layer, unavailable)
    }

    @Test("Everything public is in the layer, in Foundation's class, or declared unavailable with a reason")
    func complete() {
        #expect(linux.members["UserDefaults"]?.count ?? 0 > 50)
        #expect(linux.types.subtracting(layer.types).subtracting(["UserDefaults"]) == [])
        let available = layer.types.subtracting(unavailable.types).union(["UserDefaults"])
        for type in available {
            var missing = linux.members[type, default: []].subtracting(layer.members[type, default: []])
            if type == "UserDefaults" { missing.subtract(Self.foundation) }
            #expect(missing == [], "\(type)")
        }
    }

    @Test("Everything declared unavailable exists on Linux")
    func noMore() {
        #expect(unavailable.types.subtracting(linux.types) == [])
        let members = unavailable.members["UserDefaults", default: []]
        #expect(members.count > 10)
        #expect(members.subtracting(linux.members["UserDefaults", default: []]) == [])
        #expect(Self.foundation.subtracting(linux.members["UserDefaults", default: []]) == [])
    }
}

/// The public declarations in some files, apart from those in nested types.
private struct Declarations {
    /// The names of the types.
    private(set) var types: Set<String> = []
    /// The names of each type's members, functions with their labels.
    private(set) var members: [String: Set<String>] = [:]

    mutating func add(_ text: String) {
        var type = ""
        for line in text.matches(of: /(?m)^( {4})?(?:public |extension )[^\n]*/) {
            if line.output.1 == nil {
                let declaration = /\b(extension|struct|class|enum|protocol|typealias) (\w+)/
                guard let match = line.output.0.firstMatch(of: declaration) else { continue }
                type = String(match.output.2)
                if match.output.1 != "extension" { types.insert(type) }
            } else if let name = Self.name(in: text[line.range.lowerBound...]) {
                members[type, default: []].insert(name)
            }
        }
    }

    /// Returns the name of the member whose declaration a text begins with.
    private static func name(in text: Substring) -> String? {
        guard let match = text.prefixMatch(of: /[a-z ]*?\b(?:(?:func|var|let|enum|struct) ([\w=]+)|(init|subscript))/)
        else { return nil }
        let base = String(match.output.1 ?? match.output.2 ?? "")
        if base == "==" { return "==(_:_:)" }
        // Apart from arrows, brackets come in pairs.
        let rest = text[match.range.upperBound...].prefix(1_000).replacing("->", with: "")
            .trimmingPrefix(/\??(?:<[^>]*>)?/)
        guard rest.first == "(" else { return base }
        var (labels, depth, isAtStart) = ("", 0, false)
        for (index, character) in zip(rest.indices, rest) {
            if isAtStart, let label = rest[index...].prefixMatch(of: /\s*(\w+)/) { labels += label.output.1 + ":" }
            isAtStart = false
            if "([<".contains(character) { depth += 1 }
            if ")]>".contains(character) { depth -= 1 }
            if depth == 0, character == ")" { break }
            isAtStart = depth == 1 && (character == "(" || character == ",")
        }
        return base == "subscript" ? "subscript" : "\(base)(\(labels))"
    }
}
