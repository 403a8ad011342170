import PropertyList

/// A component that accepts bytes from outside, with checks that must hold for any bytes.
///
/// `Fuzzer` searches for bytes that break them; the tests replay those that were found, and the seeds.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case xml, binary, oldStyle, splice, json, frames, requests, messages, changeLog, archive, command

    /// A check that failed for some bytes.
    package struct Finding: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs the target with some bytes, and throws a finding if a check fails; other failures are crashes.
    package func check(_ bytes: [UInt8]) throws(Finding) {
        switch self {
        case .xml: try PropertyListCheck.check(bytes, as: .xml)
        case .binary: try PropertyListCheck.check(bytes, as: .binary)
        case .oldStyle: try PropertyListCheck.check(bytes, as: .oldStyle)
        case .splice: try SpliceCheck.check(bytes)
        case .json: try JSONCheck.check(bytes)
        case .frames: try FrameCheck.check(bytes)
        case .requests: try MessageCheck.checkRequest(bytes)
        case .messages: try MessageCheck.checkMessage(bytes)
        case .changeLog: try ChangeLogCheck.check(bytes)
        case .archive: try ArchiveCheck.check(bytes)
        case .command: try CommandCheck.check(bytes)
        }
    }
}
