import DefaultsCore
import PropertyList

/// A check that an accepted message is the same when it is sent on.
///
/// The input is old-style text or XML, because their mutations are more often valid messages than those of binary.
enum MessageCheck {
    static func checkRequest(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        let app = AppIdentity(pid: 1, executable: "/fuzz")
        try check(bytes) { try? NumberedRequest($0, from: app).fields }
    }

    static func checkMessage(_ bytes: [UInt8]) throws(FuzzTarget.Finding) {
        try check(bytes) { try? NumberedMessage($0).fields }
    }

    private static func check(
        _ bytes: [UInt8], through: (Fields) -> DomainValues?
    ) throws(FuzzTarget.Finding) {
        guard let value = try? PropertyListValue(parsing: bytes), let fields = try? Fields(value, of: "It"),
            let taken = through(fields)
        else { return }
        guard let again = through(Fields(taken)) else {
            throw FuzzTarget.Finding(description: "The message is refused when sent on: \(taken)")
        }
        guard again == taken else {
            throw FuzzTarget.Finding(description: "The message changes when sent on: \(taken), \(again)")
        }
        // An accepted message must fit in a frame.
        guard (try? Frame.encode(taken)) != nil else {
            throw FuzzTarget.Finding(description: "The message can't be framed: \(taken)")
        }
    }
}
