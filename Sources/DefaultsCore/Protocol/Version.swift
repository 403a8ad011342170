/// The version of the whole package: the agent, the command and the libraries.
///
/// Clients and agents exchange it in the greeting, for people to see; only `Request.protocolVersion` decides whether
/// they understand each other. The page *Compatibility* says what a version promises.
package enum Version {
    /// The version of this code.
    package static let current = "0.2.0"

    /// The version as `--version` shows it, with that of the protocol.
    package static var description: String { "\(current) (protocol \(Request.protocolVersion))" }
}
