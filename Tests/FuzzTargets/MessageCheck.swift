import DefaultsCore
import PropertyList

/// A message that is taken is the same when it is sent on.
///
/// It is given as old-style text or XML, whose mutations are more often messages than those of binary ones.
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
            throw FuzzTarget.Finding(description: "It isn't taken when it is sent on: \(taken)")
        }
        guard again == taken else {
            throw FuzzTarget.Finding(description: "It is another when it is sent on: \(taken), \(again)")
        }
        // What can be taken can be framed.
        guard (try? Frame.encode(taken)) != nil else {
            throw FuzzTarget.Finding(description: "It can't be framed: \(taken)")
        }
    }
}
