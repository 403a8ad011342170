/// A position in the agent's change log: everything up to `revision` has been seen.
///
/// Its text, `<epoch>:<revision>`, stays valid across restarts of the agent. The epoch identifies one log. When a log
/// is lost or damaged, a log with a new epoch begins, so that a cursor never refers to a wrong position.
package struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// The epoch of the log; in text, 16 hexadecimal digits.
    package var epoch: Epoch
    /// The revision of the last record seen; 0 before the first.
    package var revision: Revision

    /// A cursor of no log: a stream that resumes from it begins with a gap and the current values.
    package static let ofNoLog = Cursor(epoch: Epoch(value: 0), revision: 0)

    package init(epoch: Epoch, revision: Revision) {
        self.epoch = epoch
        self.revision = revision
    }

    package var description: String { "\(epoch):\(revision)" }

    /// Parses a cursor's text.
    package init(_ text: String) throws(DefaultsError) {
        // Work on bytes for speed, since every event has a cursor.
        let bytes = text.utf8
        let colon = bytes.index(bytes.startIndex, offsetBy: 16, limitedBy: bytes.endIndex) ?? bytes.endIndex
        // The standard library would accept a "+" before either number.
        guard colon < bytes.endIndex, bytes[colon] == UInt8(ascii: ":"), !bytes.contains(UInt8(ascii: "+")),
            let epoch = UInt64(text[..<colon], radix: 16), let revision = Revision(text[bytes.index(after: colon)...])
        else {
            throw DefaultsError(
                .invalidCursor,
                "\"\(text.prefix(80))\" isn't a cursor. A cursor looks like \"00f1e2d3c4b5a697:42\", "
                    + "as printed by `defaults tail --json`.")
        }
        self.init(epoch: Epoch(value: epoch), revision: revision)
    }
}

/// The number of a record in a change log, from 1 on and without gaps.
package typealias Revision = UInt64

/// The identity of one change log.
package struct Epoch: Hashable, Sendable, CustomStringConvertible {
    package var value: UInt64

    package init(value: UInt64) {
        self.value = value
    }

    /// Returns a random epoch, for a new log.
    package static func random() -> Epoch {
        Epoch(value: .random(in: 1 ... .max))
    }

    package var description: String { ContentHash(value: value).description }
}
