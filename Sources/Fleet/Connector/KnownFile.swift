import DefaultsCore

/// A file of a machine as it was when it was last read.
struct KnownFile {
    let name: FleetFileName
    /// Whether a tool has given it another name.
    var isVariant = false
    var version: FleetFileVersion?
    /// The hash of its contents.
    let link: ContentHash
    /// The hash of the machine's previous file, if this one was opened.
    var previous: ContentHash?
    /// The reason why it can't be used.
    var error: FleetFileError?
    /// Whether it is incomplete, and a tool may have written on although its version is the same.
    var isUncertain = false

    /// Finds where files of a machine aren't parts of one chain: more than one machine has written as that one.
    ///
    /// - Parameters:
    ///   - files: The files, of which some may be missing.
    ///   - end: The number and the hash of a file that is a part.
    /// - Returns: The hashes of the files that don't fit.
    static func forks(in files: [KnownFile], with end: Receipt) -> Set<ContentHash> {
        /// The hashes of the files that end, and that begin, after a number.
        var links: [UInt64: Set<ContentHash>] = [:]
        var followers: [UInt64: Set<ContentHash>] = [:]
        if let link = end.link { links[end.numbers.last] = [link] }
        for file in files where file.error == nil {
            links[file.name.last, default: []].insert(file.link)
            followers[file.name.previous, default: []].insert(file.link)
            if let previous = file.previous { links[file.name.previous, default: []].insert(previous) }
        }
        // No file begins before that end, and ends after it.
        let longer = end.link == nil ? [] : files.filter { $0.error == nil && $0.name.isBeyond(end.numbers.last) }
        return Set([links, followers].flatMap(\.values).filter { $0.count > 1 }.joined()).union(longer.map(\.link))
    }

    /// Returns the hashes of those files that can be used, combined.
    static func digest(of files: [String: KnownFile]) -> ContentHash {
        ContentHash(value: files.values.reduce(0) { $1.error == nil ? $0 &+ $1.link.value : $0 })
    }
}
