import PropertyList

/// What takes bytes from outside, and what must hold whatever they are.
///
/// `Fuzzer` looks for bytes that break it; the tests replay those that were found, and the seeds.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case xml, binary, oldStyle, splice, json, frames, requests, messages, changeLog, command

    /// What doesn't hold for some bytes.
    package struct Finding: Error, CustomStringConvertible {
        package let description: String
    }

    /// Gives it bytes; what it must not do, crashing apart, is thrown.
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
        case .command: try CommandCheck.check(bytes)
        }
    }
}
