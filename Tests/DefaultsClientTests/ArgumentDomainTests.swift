import DefaultsClient
import DefaultsCore
import PropertyList
import Testing

@Suite("Argument domain")
struct ArgumentDomainTests {
    static let rows: [([String], DomainValues)] = [
        ([], [:]),
        (["-a", "b"], ["a": "b"]),
        (["-a", "b", "-c", "d"], ["a": "b", "c": "d"]),
        (["-a", "1", "-a", "2"], ["a": "2"]),
        // A key without a value, and words that aren't a key's value.
        (["-a"], [:]),
        (["-x", "-y", "z"], ["y": "z"]),
        (["file", "-a", "b", "other"], ["a": "b"]),
        (["-a", ""], ["a": ""]),
        // Long options, and the words after them, belong to the program.
        (["--long", "v"], [:]),
        (["-x", "--long", "v"], [:]),
        (["--long", "-a", "b"], ["a": "b"]),
        (["-a", "b", "--", "-c", "d"], ["a": "b"]),
        (["-a", "--", "b"], [:]),
        // Numbers may be negative and stay text.
        (["-a", "-5"], ["a": "-5"]),
        (["-a", "-.5", "-b", "5"], ["a": "-.5", "b": "5"]),
        (["-5", "x"], [:]),
        (["-a", "-inf"], [:]),
        (["-a", "-"], ["a": "-"]),
        (["-", "v"], [:]),
        // Property lists in both formats, complete or in part.
        (["-a", "<integer>5</integer>"], ["a": 5]),
        (["-a", "<real>0.5</real>"], ["a": 0.5]),
        (["-a", "<true/>"], ["a": true]),
        (["-a", "<string>x</string>"], ["a": "x"]),
        (["-a", "<array><integer>1</integer></array>"], ["a": [1]]),
        (
            ["-a", "<dict><key>k</key><date>2001-01-01T00:00:01Z</date></dict>"],
            ["a": ["k": .date(PropertyListDate(secondsSinceReferenceDate: 1))]]
        ),
        (["-a", "<plist><true/></plist>"], ["a": true]),
        (["-a", "(1,2)"], ["a": ["1", "2"]]),
        (["-a", "{a=b;}"], ["a": ["a": "b"]]),
        (["-a", "{}"], ["a": [:]]),
        (["-a", "<0a0b>"], ["a": .data([10, 11])]),
        (["-a", "\"x y\""], ["a": "x y"]),
        // Text that isn't a valid property list stays as it is.
        (["-a", "(1,2"], ["a": "(1,2"]),
        (["-a", "<integer>x</integer>"], ["a": "<integer>x</integer>"]),
        (["-a", "[1,2]"], ["a": "[1,2]"]),
        (["-a", "{\"a\": 1}"], ["a": "{\"a\": 1}"]),
        (["-a", "<"], ["a": "<"]),
        (["-a", "\""], ["a": "\""]),
        (["-a", " (1)"], ["a": " (1)"]),
        (["-a", "a = b;"], ["a": "a = b;"]),
        (["-Key With Space", "é"], ["Key With Space": "é"]),
    ]

    @Test("The argument domain consists of the key-value pairs after the program's name", arguments: rows)
    func pairs(arguments: [String], values: DomainValues) {
        #expect(ArgumentDomain.values(in: ["-program"] + arguments) == values)
    }

    @Test("The argument domain is empty without arguments, even without the program's name")
    func nothing() {
        #expect(ArgumentDomain.values(in: []) == [:])
    }
}
