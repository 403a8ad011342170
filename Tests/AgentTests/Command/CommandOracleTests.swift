import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Other programs that read what the command prints and writes.
@Suite("The command's output in other programs")
struct CommandOracleTests {
    /// Imports values into the domain `a.b` without an agent, and runs a test there.
    private func withValues(
        _ values: DomainValues, _ body: (AgentProcess.Place, _ defaults: ([String]) throws -> String) throws -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            func defaults(_ arguments: [String]) throws -> String {
                let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.status == 0 && outcome.errors == "", "\(arguments): \(outcome.errors)")
                return outcome.output
            }
            let path = place.runtime + "/in"
            try RawFile.write(PropertyListValue.dictionary(values).write(as: .binary), to: path)
            _ = try defaults(["import", "a.b", path])
            try body(place, defaults)
        }
    }

    @Test(
        "GNUstep's tools read back the text that `read` prints",
        .enabled(if: RawFile.exists(Programs.plmerge) && RawFile.exists(Programs.plparse)))
    func gnustepText() throws {
        let values = HostileValues.domain(withControls: true)
        try withValues(values) { place, defaults in
            let (text, merged) = (place.runtime + "/text", place.runtime + "/merged")
            try RawFile.write(defaults(["read", "a.b"]), to: text)
            #expect(try Programs.run(Programs.plmerge, [merged, text]).status == 0)
            let theirs = try PropertyListValue(parsing: RawFile.read(merged))
            #expect(theirs == PropertyListValue.dictionary(values).asStored(in: .oldStyle))
        }
        // plparse accepts only ASCII, unlike GNUstep's reader.
        let plain = HostileValues.domain(withControls: true, where: { $0.utf8.allSatisfy { $0 < 0x80 } })
        try withValues(plain) { place, defaults in
            let text = place.runtime + "/text"
            try RawFile.write(defaults(["read", "a.b"]), to: text)
            let parsed = try Programs.run(Programs.plparse, [text])
            #expect((parsed.output + parsed.errors).contains("a dictionary"))
        }
    }

    @Test("GNUstep's `defaults` reads the files", .enabled(if: RawFile.exists(Programs.gnustepDefaults)))
    func gnustepFiles() throws {
        // GNUstep takes "\U" for an escape even in XML.
        let texts = HostileValues.strings.filter { !$0.contains("\\U") }
        let strings = PropertyListValue.array(texts.map { .string($0) })
        try withValues(["strings": strings, "number": 5, "flag": true, "word": "text"]) { place, _ in
            // GNUstep takes the path as relative to the home directory in the user database.
            let home = String(repeating: "../", count: 20) + place.preferences.dropFirst()
            let configuration = place.runtime + "/gnustep.conf"
            try RawFile.write("GNUSTEP_USER_DEFAULTS_DIR=\(home)\n", to: configuration)
            chmod(configuration, 0o600)
            func read(_ key: String) throws -> String {
                let outcome = try Programs.run(
                    Programs.gnustepDefaults, ["read", "a.b", key],
                    environment: ["GNUSTEP_CONFIG_FILE": configuration, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"])
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.output
            }
            #expect(try read("number") == "a.b number 5\n")
            #expect(try read("flag") == "a.b flag 1\n")
            #expect(try read("word") == "a.b word text\n")
            let output = try read("strings")
            let start = "a.b strings '"
            #expect(output.hasPrefix(start) && output.hasSuffix("'\n"))
            let text = output.dropFirst(start.count).dropLast(2).replacingOccurrences(of: "''", with: "'")
            #expect(try PropertyListValue(parsing: Array(text.utf8)) == strings)
        }
    }

    @Test("`plistutil` reads exported files", .enabled(if: RawFile.exists(Programs.plistutil)))
    func plistutil() throws {
        // plistutil doesn't escape a carriage return, which XML then reads as a line feed.
        var values = HostileValues.domain(withControls: false, where: { !$0.utf8.contains(0x0D) })
        // libplist's XML has fewer digits for reals, no unsigned numbers, and its own treatment of dates.
        for key in ["real", "small", "large", "tenth", "minus zero", "whole", "unsigned", "old date", "date"] {
            values[key] = nil
        }
        try withValues(values) { place, defaults in
            let (binary, xml, into) = (place.runtime + "/b", place.runtime + "/x", place.runtime + "/o")
            _ = try defaults(["export", "a.b", binary])
            try RawFile.write(defaults(["export", "a.b", "-"]), to: xml)
            for (from, format) in [(binary, "xml"), (xml, "bin")] {
                #expect(try Programs.run(Programs.plistutil, ["-i", from, "-o", into, "-f", format]).status == 0)
                #expect(try PropertyListValue(parsing: RawFile.read(into)) == .dictionary(values))
            }
        }
    }

    @Test("Python's plistlib reads exported files", .enabled(if: ForeignProcess.hasPython))
    func python() throws {
        let values = HostileValues.domain(withControls: false)
        let script = """
            import plistlib, sys
            with open(sys.argv[1], "rb") as f: value = plistlib.load(f)
            with open(sys.argv[2], "wb") as f: plistlib.dump(value, f, fmt=plistlib.FMT_BINARY)
            """
        try withValues(values) { place, defaults in
            let (binary, xml, into) = (place.runtime + "/b", place.runtime + "/x", place.runtime + "/o")
            _ = try defaults(["export", "a.b", binary])
            try RawFile.write(defaults(["read", "a.b", "--plist", "xml"]), to: xml)
            for from in [binary, xml, place.path("a.b")] {
                try ForeignProcess.run(python: script, [from, into])
                #expect(try PropertyListValue(parsing: RawFile.read(into)) == .dictionary(values))
            }
        }
    }
}
