/// The identifier of a machine in a fleet: 16 random hexadecimal digits.
package struct MachineID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    /// Creates an identifier from its text; `nil` if that isn't one.
    package init?(_ text: String) {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        self.text = text
    }

    /// Creates an identifier that no other machine has.
    package static func random(using generator: inout some RandomNumberGenerator) -> MachineID {
        let digits = String(generator.next(), radix: 16)
        return MachineID(text: String(repeating: "0", count: 16 - digits.count) + digits)
    }

    private init(text: String) { self.text = text }

    package var description: String { text }
    package static func < (one: MachineID, other: MachineID) -> Bool { one.text < other.text }
}

/// The place of an edit in the order of all edits of a fleet: of two edits of a key, that with the larger stamp wins.
package struct Stamp: Hashable, Sendable, Comparable {
    /// The time of a hybrid clock: milliseconds since 1970 in the upper 48 bits, and a counter in the lower 16.
    package var time: UInt64
    package var machine: MachineID

    package init(time: UInt64, machine: MachineID) { (self.time, self.machine) = (time, machine) }

    /// Creates the stamp of an edit.
    ///
    /// An edit that was made with knowledge of another gets a later time than that one, whatever the machines' clocks
    /// say. A clock that is far ahead therefore can't spoil those of others, and not even its own for long: only keys
    /// that it has stamped are ahead.
    ///
    /// Kulkarni et al., "Logical Physical Clocks", 2014; here with a clock for each key.
    ///
    /// - Parameters:
    ///   - milliseconds: The time of the edit by the machine's clock.
    ///   - known: The stamp of the edit that its writer has seen; `nil` if there is none.
    ///   - machine: The machine.
    package init(at milliseconds: UInt64, after known: Stamp?, on machine: MachineID) {
        let own = max(1, min(milliseconds, Self.maximum)) << 16
        self.init(time: max(own, known.map { min($0.time, .max - 1) + 1 } ?? 0), machine: machine)
    }

    private static let maximum: UInt64 = 1 << 48 - 1

    /// The number of milliseconds by which the clock of another machine may be ahead before it is reported.
    package static let tolerance: UInt64 = 60_000

    /// The milliseconds since 1970.
    package var milliseconds: UInt64 { time >> 16 }

    package static func < (one: Stamp, other: Stamp) -> Bool {
        (one.time, one.machine) < (other.time, other.machine)
    }
}
