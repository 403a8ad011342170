package import PropertyList

/// A key of a domain of the user's, for any host.
package struct FleetKey: Hashable, Sendable, Comparable {
    package var domain: String
    package var key: String

    package init(_ domain: String, _ key: String) { (self.domain, self.key) = (domain, key) }

    package static func < (one: FleetKey, other: FleetKey) -> Bool {
        (one.domain, one.key) < (other.domain, other.key)
    }
}

/// An edit of a key as it travels.
package struct Envelope: Hashable, Sendable {
    package var key: FleetKey
    /// The new value; `nil` for a removal.
    package var value: PropertyListValue?
    package var stamp: Stamp
    /// The newest edits of the key of each machine that its writer knew, itself or through others.
    package var known: KnownEdits

    package init(_ key: FleetKey, _ value: PropertyListValue?, stamp: Stamp, known: KnownEdits) {
        (self.key, self.value, self.stamp, self.known) = (key, value, stamp, known)
    }
}

/// The edits of one change set, which are applied together.
package struct EnvelopeSet: Hashable, Sendable {
    package var envelopes: [Envelope]
    /// The position of their record in the agent's log; `nil` if they come from no single record.
    package var cursor: String?
    /// Whether they are values that the machine had before it joined, or before their keys were added.
    package var isBeginning: Bool

    package init(_ envelopes: [Envelope], cursor: String?, isBeginning: Bool = false) {
        (self.envelopes, self.cursor, self.isBeginning) = (envelopes, cursor, isBeginning)
    }

    /// Whether it says that the machine has sent all of its values from before it joined.
    package var isEndOfBeginning: Bool { isBeginning && envelopes.isEmpty }
}

/// The edits of a key that an edit was made with knowledge of: the newest of each machine, which stands for all that it
/// knew itself.
package struct KnownEdits: Hashable, Sendable {
    /// The stamps, by their machines.
    package private(set) var stamps: [Stamp] = []

    package init() {}

    /// The newest of them, which the writer has seen; `nil` if there was none.
    package var base: Stamp? { stamps.max() }

    package func contains(_ stamp: Stamp) -> Bool {
        stamps.contains { $0.machine == stamp.machine && $0.time >= stamp.time }
    }

    /// Adds an edit that knew these.
    package func adding(_ stamp: Stamp?) -> KnownEdits {
        guard let stamp else { return self }
        var known = self
        known.stamps.removeAll { $0.machine == stamp.machine && $0.time <= stamp.time }
        if !known.contains(stamp) { known.stamps.append(stamp) }
        known.stamps.sort { $0.machine < $1.machine }
        return known
    }
}
