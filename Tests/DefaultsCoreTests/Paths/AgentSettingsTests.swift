import DefaultsCore
import PropertyList
import Testing

@Suite("Agent settings")
struct AgentSettingsTests {
    @Test("Valid settings are applied")
    func right() {
        var problems: [AgentSettings.Problem] = []
        let settings = AgentSettings(
            [
                "LogLevel": "debug", "SaveDelay": 0, "SaveLimit": 60_000, "HoldDelay": 1, "LogRecords": 1,
                "LogBytes": 1_024, "MaximumFileSize": 2_048, "MaximumConnections": 3, "MaximumSubscriptions": 4,
                "Directory": "~/Library/Preferences",
            ], problems: &problems)
        #expect(problems == [])
        #expect(settings.logLevel == "debug")
        #expect([settings.saveDelay, settings.saveLimit, settings.holdDelay] == [0, 60_000, 1])
        #expect([settings.logRecords, settings.logBytes, settings.maximumFileSize] == [1, 1_024, 2_048])
        #expect([settings.maximumConnections, settings.maximumSubscriptions] == [3, 4])
    }

    @Test("Valid patterns of excluded keys apply beside invalid ones, and without a valid one, no key is kept")
    func exclusions() {
        let table: [(PropertyListValue, HistoryExclusions)] = [
            (["a/b", 7, "", "c.d"], HistoryExclusions(["a/b", "c.d"])), (.array([]), HistoryExclusions()),
            ([7], .unknown), ("a/b", .unknown), (7, .unknown), (.dictionary(["x": "a/b"]), .unknown),
        ]
        for (value, expected) in table {
            var problems: [AgentSettings.Problem] = []
            let settings = AgentSettings(["HistoryExcludes": value], problems: &problems)
            #expect(settings.historyExclusions == expected, "\(value)")
            #expect(problems.isEmpty == (value == .array([])), "\(value)")
        }
    }

    @Test("A pattern of excluded keys that names a domain, but looks like a key, is reported and applies")
    func exclusionOfDomain() {
        for text in ["password", "token*"] {
            var problems: [AgentSettings.Problem] = []
            let settings = AgentSettings(["HistoryExcludes": [.string(text), "a/b"]], problems: &problems)
            #expect(
                problems.map(\.description) == [
                    "In HistoryExcludes, \"\(text)\" names a domain. For a key in any domain, write \"*/\(text)\"; "
                        + "for all keys of that domain, write \"\(text)/*\"."
                ])
            #expect(settings.historyExclusions == HistoryExclusions([text, "a/b"]))
        }
        var problems: [AgentSettings.Problem] = []
        let patterns: PropertyListValue = ["a/b", "password/*", "org.example.bank", "-g", "NSGlobalDomain", "*"]
        _ = AgentSettings(["HistoryExcludes": patterns], problems: &problems)
        #expect(problems == [])
    }

    @Test(
        "An invalid setting keeps its default and is reported with an explanation",
        arguments: [
            ("LogLevel", "loud", "LogLevel must be one of trace, debug, info, notice, warning, error, critical."),
            ("LogLevel", 3, "LogLevel must be one of trace, debug, info, notice, warning, error, critical."),
            ("Directory", "here", "Directory must be a string that begins with \"/\" or \"~/\"."),
            ("Directory", true, "Directory must be a string that begins with \"/\" or \"~/\"."),
            ("SaveDelay", -1, "SaveDelay must be an integer from 0 to 60000."),
            ("SaveDelay", "10", "SaveDelay must be an integer from 0 to 60000."),
            ("SaveLimit", 60_001, "SaveLimit must be an integer from 0 to 60000."),
            ("HoldDelay", 1.5, "HoldDelay must be an integer from 0 to 60000."),
            ("LogRecords", 0, "LogRecords must be an integer from 1 to 10000000."),
            ("LogBytes", .unsigned(.max), "LogBytes must be an integer from 1024 to 4294967296."),
            ("MaximumFileSize", true, "MaximumFileSize must be an integer from 1024 to 1073741824."),
            ("saveDelay", 10, "saveDelay isn't a setting of the agent."),
        ] as [(String, PropertyListValue, String)])
    func wrong(key: String, value: PropertyListValue, problem: String) {
        var problems: [AgentSettings.Problem] = []
        #expect(AgentSettings([key: value], problems: &problems) == AgentSettings())
        #expect(problems.map(\.description) == [problem])
    }
}
