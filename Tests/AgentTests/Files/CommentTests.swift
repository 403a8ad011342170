import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Files with comments, kept in git, which apps, the command and the agent edit.
///
/// `COMMENTS=3600 swift test --filter CommentTests` runs for that many seconds, with a new seed.
@Suite("Comments in files under version control")
struct CommentTests {
    private static let seconds = ProcessInfo.processInfo.environment["COMMENTS"].flatMap(Double.init)

    private static let xml = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- Mine, since 2019.
             Copied to each machine. -->
        <plist version="1.0">
          <dict>
            <!-- The first of all. -->
            <key>alpha0</key>
            <string>alpha0 0</string> <!-- as on the laptop -->

            <!-- A number that nobody has written so since. -->
            <key>bravo0</key> <integer>0x1F</integer>
            <key>stable one</key>
            <array>
                <real>1.50</real><!-- between --><true/>
            </array>
            <key>charlie0</key>
            <string>charlie0 0</string>
            <!-- Kept
                 as it is. --> <key>stable two</key><string><![CDATA[a < b]]> &#x65;nd</string>

            <key>delta0</key>
            <array>
              <string>delta0 0</string>
            </array>
            <!-- The end. -->
          </dict>
        </plist>
        <!-- vim: set sw=2: -->

        """

    private static let oldStyle = """
        // Mine, since 2019.
        {
          /* The first
             of all. */
          alpha0 = "alpha0 0"; // as on the laptop

          'bravo0' = "bravo0 0"; /* In quotes
          that nobody writes. */
          "stable one" = ( 1, /* between */ "t\\167o" ); // }
          charlie0 = "charlie0 0";
          // Kept as it is.
          stable.two = <0a 0b>;

          delta0 = ("delta0 0");
          // The end.
        } // Really.

        """

    /// A preferences file in the git repository.
    private struct Document {
        let domain: String
        let text: String
        /// Its comments, in order.
        let comments: [String]
        /// Its expected values after the edits so far.
        var values: [String: PropertyListValue]

        init(domain: String, text: String) throws {
            self.domain = domain
            self.text = text
            comments = text.matches(of: /<!--(?s:.*?)-->|\/\*(?s:.*?)\*\/|\/\/[^\n"]*/).map { String($0.output) }
            guard case .dictionary(let values) = try PropertyListValue(parsing: Array(text.utf8)) else {
                throw TestSystemError("reading \(domain)")
            }
            self.values = values
        }
    }

    /// The program that makes an edit.
    private enum Writer: CaseIterable { case command, commandOnFiles, app }

    private static let names = ["alpha0", "bravo0", "charlie0", "delta0", "echo0", "zulu0"]

    /// Makes a random edit and returns the keys that it affects.
    private static func edit(
        _ document: inout Document, _ round: Int, _ place: AgentProcess.Place, hasAgent: Bool,
        _ random: inout PseudoRandom
    ) throws -> [String] {
        var environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
        let (key, text) = (random.pick(names), "\(round) of \(hasAgent ? "the agent" : "files")")
        let writer = random.pick(Writer.allCases)
        if writer == .commandOnFiles { environment["DEFAULTS_NO_AGENT"] = "1" }
        let value = "\(key) \(text)"
        func run(_ arguments: [String], input: String = "", _ program: String = Programs.defaults) throws {
            let outcome = try Programs.run(program, arguments, environment: environment, input: input)
            let isQuiet = outcome.errors == "" || outcome.errors.contains("The edit changed the type of ")
            #expect(outcome.status == 0 && isQuiet, "\(arguments): \(outcome)")
        }
        if writer == .app {
            try run([document.domain, String(key.dropLast()), "1", value], Programs.liveWriter)
            document.values[key] = .string(value)
            return [key]
        }
        switch random.below(5) {
        case 0 where document.values[key] != nil:
            try run(["delete", document.domain, key])
            document.values[key] = nil
        case 1:
            try run(["write", document.domain, key, "-array", value, "\(key) too"])
            document.values[key] = .array([.string(value), .string("\(key) too")])
        case 2:
            let other = random.pick(names)
            try run(
                ["import", document.domain, "-"], input: "{ \(key) = \"\(value)\"; \(other) = \"\(other) \(text)\"; }")
            document.values[key] = .string(value)
            document.values[other] = .string("\(other) \(text)")
            return [key, other]
        case 3:
            let other = random.pick(names)
            guard other != key, document.values[key] != nil else { fallthrough }
            try run(["rename", document.domain, key, other])
            document.values[other] = document.values.removeValue(forKey: key)
            return [key, other]
        default:
            try run(["write", document.domain, key, "-string", value])
            document.values[key] = .string(value)
        }
        return [key]
    }

    /// Returns the lines that the last edit changed according to git, without the parts that belong to some keys.
    private static func strangers(in difference: String, of keys: [String]) -> (removed: [String], added: [String]) {
        var strangers: (removed: [String], added: [String]) = ([], [])
        for line in difference.split(separator: "\n") where !line.hasPrefix("---") && !line.hasPrefix("+++") {
            guard line.hasPrefix("-") || line.hasPrefix("+") else { continue }
            // A comment beside a key stays when the key is removed.
            let parts = line.dropFirst().replacing(/(\/\/|\/\*|<!--)/) { "\n\($0.output.0)" }.split(separator: "\n")
                .map { $0.trimmingCharacters(in: .whitespaces) }
            let isOfKey = { (part: String) in keys.contains { part.contains($0) } }
            let marks = ["", "<array>", "</array>", ");"]
            let others = parts.filter { !isOfKey($0) && !marks.contains($0) }
            if line.hasPrefix("-") { strangers.removed += others } else { strangers.added += others }
        }
        return strangers
    }

    private static func check(_ document: Document, _ keys: [String], _ git: (String) throws -> String) throws {
        let difference = try git("diff -U0 -- '\(document.domain).plist'")
        let strangers = strangers(in: difference, of: keys)
        #expect(strangers.removed == strangers.added, "\(keys): \(difference)")
        let size = try git("diff --numstat -- '\(document.domain).plist'").split(whereSeparator: \.isWhitespace)
        // A key has at most four lines, and for each of them the diff may show a line of a neighboring array too.
        #expect(size.prefix(2).allSatisfy { (Int($0) ?? 99) <= 8 * keys.count }, "\(difference)")
    }

    @Test(
        "An edit changes only its own keys' lines in git, and all comments stay",
        .enabled(if: RawFile.exists("/usr/bin/git")))
    func rounds() throws {
        let seed = Self.seconds == nil ? 17 : UInt64.random(in: 0...(.max))
        var random = PseudoRandom(seed: seed)
        var documents = try [
            Document(domain: "org.example.annotated", text: Self.xml),
            Document(domain: "org.example.strings", text: Self.oldStyle),
        ]
        try AgentProcess.withPlace { place in
            func git(_ arguments: String) throws -> String {
                let outcome = try Programs.shell(
                    "git -c core.fsync=none -c gc.auto=0 -c user.name=t -c user.email=t@example.org \(arguments)",
                    in: place.preferences, environment: ["GIT_CONFIG_GLOBAL": "/dev/null"])
                #expect(outcome.status == 0, "\(arguments): \(outcome)")
                return outcome.output
            }
            func path(_ document: Document) -> String { place.path(document.domain) }
            for document in documents { try RawFile.write(document.text, to: path(document)) }
            _ = try git("init -q")
            _ = try git("add '*.plist'")
            _ = try git("commit -qm 'Add my settings'")

            let end = ContinuousClock.now + .seconds(Self.seconds ?? 20)
            var agent: AgentProcess?
            defer { agent?.kill() }
            var round = 0
            while ContinuousClock.now < end {
                // An agent runs in half of the rounds.
                if round.isMultiple(of: 12) { agent = try AgentProcess(place) }
                if round % 12 == 6 {
                    #expect(agent?.terminate() == 0)
                    agent = nil
                }
                round += 1
                let index = random.below(documents.count)
                let old = documents[index].values
                let keys = try Self.edit(&documents[index], round, place, hasAgent: agent != nil, &random)
                let document = documents[index]
                // A renamed value still contains the name of the key that it was first set for.
                let origins = Self.names.filter { name in keys.contains { "\(old[$0] ?? "")".contains(name) } }
                var values: PropertyListValue?
                // An app exits without waiting for the agent to save its edit.
                let isSaved = try eventually {
                    values = try PropertyListValue(parsing: RawFile.read(path(document)))
                    return values == .dictionary(document.values)
                }
                #expect(isSaved, "Seed \(seed), round \(round), \(keys): \(String(describing: values))")
                try Self.check(document, keys + origins, git)
                let text = try String(decoding: RawFile.read(path(document)), as: UTF8.self)
                var rest = text[...]
                for comment in document.comments {
                    let found = rest.range(of: comment)
                    #expect(found != nil, "Seed \(seed), round \(round), \(keys): \(comment) is gone from \(text)")
                    if let found { rest = rest[found.upperBound...] }
                }
                _ = try git("commit -qam 'Round \(round)' --allow-empty")
                guard isSaved else { break }
            }
            #expect(try git("status --porcelain --untracked-files=no") == "")
            print("Comments: \(round) edits, seed \(seed).")
        }
    }
}
