import PropertyList

/// The marks of many domains' files, as one entry of the change log file.
///
/// A group takes a small fraction of the time and space of as many `FileMark`s. It has marks of files that hold
/// everything about their domains, so that there is nothing to tell but a hash, and of the current user's domains for
/// any host.
package struct FileMarkGroup: Hashable, Sendable {
    /// The revision of the last log record that the files reflect.
    package let revision: Revision
    private let names: [DomainName]
    private let hashes: [ContentHash]

    /// The maximum number of marks in a group, which bounds the size of an entry.
    private static let capacity = 4096

    /// Creates groups from the hashes of files; domains that can't be in a group are ignored.
    static func groups(of files: some Sequence<(Domain, ContentHash)>, revision: Revision) -> [FileMarkGroup] {
        let usual = files.filter { $0.0.isUsual }
        return stride(from: 0, to: usual.count, by: capacity).map { start in
            let part = usual[start..<min(start + capacity, usual.count)]
            return FileMarkGroup(revision: revision, names: part.map(\.0.name), hashes: part.map(\.1))
        }
    }

    /// The marks.
    package var marks: some Sequence<FileMark> {
        zip(names, hashes).lazy.map { FileMark(domain: Domain($0), hash: $1, revision: revision) }
    }
}

extension FileMarkGroup {
    static let type = "marks"

    package var fields: DomainValues {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(hashes.count * 8)
        for hash in hashes { withUnsafeBytes(of: hash.value.bigEndian) { bytes.append(contentsOf: $0) } }
        return [
            "type": .string(Self.type), "revision": .number(revision), "hashes": .data(bytes),
            // A name has no "/", and one string is read and written faster than many.
            "names": .string(names.lazy.map(\.description).joined(separator: "/")),
        ]
    }

    package init(_ fields: Fields) throws(DefaultsError) {
        revision = try fields.unsigned("revision")
        guard case .data(let bytes)? = fields.values["hashes"], bytes.count % 8 == 0 else {
            throw Fields.wrong("hashes", not: "data of eight bytes for each name")
        }
        let text = try fields.string("names")
        names = try text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { name throws(DefaultsError) in try DomainName(String(Substring(name))) }
        guard names.count * 8 == bytes.count else {
            throw Fields.wrong("hashes", not: "data of eight bytes for each name")
        }
        hashes = names.indices.map { ContentHash(value: Frame.number(bytes, at: $0 * 8)) }
    }
}
