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

    /// Finds out whether files of a machine aren't parts of one chain: more than one has written as that machine.
    ///
    /// - Parameters:
    ///   - files: The files, of which some may be missing.
    ///   - end: The number and the hash of a file that is a part.
    /// - Returns: Whether they aren't.
    static func areForked(_ files: [KnownFile], with end: Receipt) -> Bool {
        /// The hashes of the files that end, and that begin, after a number.
        var links: [UInt64: ContentHash] = [:]
        var followers: [UInt64: ContentHash] = [:]
        links[end.numbers.last] = end.link
        func isSecond(_ link: ContentHash?, at number: UInt64, in links: inout [UInt64: ContentHash]) -> Bool {
            guard let link else { return false }
            return links.updateValue(link, forKey: number).map { $0 != link } ?? false
        }
        return files.contains { file in
            file.error == nil
                && (isSecond(file.link, at: file.name.last, in: &links)
                    || isSecond(file.previous, at: file.name.previous, in: &links)
                    || isSecond(file.link, at: file.name.previous, in: &followers))
        }
    }

    /// Returns the hashes of those files that can be used, combined.
    static func digest(of files: [String: KnownFile]) -> ContentHash {
        ContentHash(value: files.values.reduce(0) { $1.error == nil ? $0 ^ $1.link.value : $0 })
    }
}
