/// The version of the whole package: the agent, the command and the libraries.
///
/// Clients and agents exchange it in the greeting, but only to show it to people. `Request.protocolVersions` alone
/// decides whether they can work together. The page *Compatibility* says what a version promises.
package enum Version {
    /// The version of this code.
    package static let current = "0.2.0"

    /// The version with that of the protocol, as `--version` shows it.
    package static var description: String { "\(current) (protocol \(Request.protocolVersions.upperBound))" }
}
