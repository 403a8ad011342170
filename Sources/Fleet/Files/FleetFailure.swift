/// A reason why the fleet's files can't be used.
package enum FleetFailure: Error {
    /// This machine's state isn't the newest, or not the only one: it was restored from a backup, copied to another
    /// machine, or lost together with files in the folder. It goes on under a new identifier.
    case isCopied
    /// The folder has neither this machine's subfolder nor any other one's, as if its disk weren't there.
    case noOwnFiles
    /// Something has replaced this machine's subfolder by a link, or another user's directory; the path.
    case notOwnFolder(String)
    /// The system refuses; the path, and the number of the error.
    case system(String, Int32)
    /// The system refuses to write a file, which may be there nevertheless, as after a crash; the path, and the number
    /// of the error.
    case notWritten(String, Int32)
}
