import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Preferred languages")
struct LanguagesTests {
    @Test(
        "Preferred languages are read from the environment as gettext reads them",
        arguments: [
            ([:], []),
            (["LANG": "C.UTF-8"], []),
            (["LANG": "de_AT.UTF-8@euro"], ["de-AT"]),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": ""], ["fr-FR"]),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "ja"], ["ja"]),
            (["LANG": "de_DE", "LANGUAGE": "sr_RS@latin:fr::fr"], ["sr-Latn-RS", "fr"]),
            (["LANG": "de_DE", "LANGUAGE": "fr:C:it"], ["fr"]),
            // If the other variables are unset, the locale is "C".
            (["LANGUAGE": "de"], []),
            (["LC_ALL": "POSIX", "LANGUAGE": "de"], []),
        ] as [([String: String], [String])])
    func environment(variables: [String: String], expected: [String]) {
        let languages = Languages.preferred(in: Environment(variables))
        #expect(languages == expected)
    }

    @Test("The environment's languages apply if the search list has none, and English is always last")
    func names() {
        #expect(Languages.names(of: nil, else: ["de"]) == ["de", "en"])
        #expect(Languages.names(of: ["fr", "en", "fr"], else: ["de"]) == ["fr", "en"])
        #expect(Languages.names(of: "fr", else: ["de"]) == ["fr", "en"])
        #expect(Languages.names(of: 5, else: ["de"]) == ["en"])
        let many = (0..<1_000).map { PropertyListValue.string("l\($0)") }
        #expect(Languages.names(of: .array(many), else: []).count == 33)
    }

    @Test("Languages with overlong names are ignored to save memory")
    func length() {
        let longest = String(repeating: "x", count: 64)
        let long: [PropertyListValue] = (0..<40).map { .string(longest + "\($0)") }
        #expect(Languages.names(of: .array(long + ["fr", .string(longest)]), else: []) == ["fr", longest, "en"])
        #expect(Languages.names(of: .string(longest + "x"), else: ["de"]) == ["en"])
        #expect(Languages.names(of: nil, else: [longest + "x", "de"]) == ["de", "en"])
    }
}
