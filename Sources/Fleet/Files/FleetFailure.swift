/// A reason why the fleet's files can't be used.
package enum FleetFailure: Error {
    /// Another machine writes this one's files, because its state was copied.
    case isCopied
    /// The folder has none of the files that this machine has written, as if its disk weren't there.
    case noOwnFiles
    /// Something has replaced this machine's subfolder by a link, or another user's directory; the path.
    case notOwnFolder(String)
    /// The system refuses; the path, and the number of the error.
    case system(String, Int32)
}
