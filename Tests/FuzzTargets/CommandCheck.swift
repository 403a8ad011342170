import DefaultsCommand
import DefaultsCore
import PropertyList

/// A check that operands are either parsed or refused, and that `write` sets the value that is then read.
enum CommandCheck {
    private static let domain: DomainValues = [
        "a": ["b": [1, 2, ["c": "d"]], "": "empty"], "a.b": 5, "list": [[], "x"], "text": "t", "": ["": 1],
    ]

    /// Checks operands that are separated by NULs.
    static func check(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
        let operands = parts.compactMap { String(validating: $0, as: UTF8.self) }
        // This is skipped for -app, which searches the system for an application.
        if !operands.contains("-app") { _ = try? Arguments.prepared(operands) }
        _ = try? WriteOperands(operands, reading: .either, isJSON: true)
        for reading in KeyText.Reading.allCases {
            guard case .key(let key, let new)? = try? WriteOperands(operands, reading: reading) else { continue }
            try check(key, new)
        }
    }

    private static func check(_ key: KeyText, _ new: NewValue) throws(FuzzTarget.Finding) {
        let place = DomainLocation(Domain(.global))
        guard let path = try? key.path(in: domain) else { return }
        let old = try? path.value(in: domain, of: place)
        guard
            let edit = try? path.edit(
                in: domain, of: place, { value throws(Failure) in try new.applied(to: value, key.text, of: place) })
        else { return }
        guard Set(edit.values.keys) == [path.key], edit.expected == [path.key: domain[path.key]] else {
            throw FuzzTarget.Finding(description: "The edit changes another key or expects another value.")
        }
        var values = domain
        for (key, value) in edit.values { values[key] = value }
        let wanted = try? new.applied(to: old, key.text, of: place)
        guard let found = try? path.value(in: values, of: place), found == wanted else {
            throw FuzzTarget.Finding(description: "The value read differs from the value set.")
        }
    }
}
