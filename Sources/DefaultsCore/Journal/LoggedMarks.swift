/// The marks in a change log file, collected while the file is read.
///
/// Equal entries count once, at the position of the last: earlier versions of the agent wrote all marks again at every
/// start.
struct LoggedMarks {
    /// An entry with one or more marks.
    private struct Entry {
        var marks: [FileMark]
        /// The position of the entry's last occurrence in the file.
        var position: Int
    }

    private var entries: [ContentHash: Entry] = [:]
    /// The size of the entries without repetitions, in bytes.
    private(set) var size = 0

    /// Records that an entry occurs again; returns false if it hasn't occurred yet.
    mutating func repeats(_ hash: ContentHash, at position: Int) -> Bool {
        guard let index = entries.index(forKey: hash) else { return false }
        entries.values[index].position = position
        return true
    }

    /// Adds the marks of an entry that hasn't occurred yet.
    mutating func add(_ marks: [FileMark], hashed hash: ContentHash, at range: Range<Int>) {
        entries[hash] = Entry(marks: marks, position: range.lowerBound)
        size += range.count
    }

    /// Returns the marks of each domain, oldest first; one that only confirms the previous mark replaces it.
    consuming func byDomain() -> [Domain: [FileMark]] {
        var result: [Domain: [FileMark]] = [:]
        for entry in entries.values.sorted(by: { $0.position < $1.position }) {
            for var mark in entry.marks {
                if let last = result[mark.domain]?.last, last.isComplete, mark.isComplete, last.hash == mark.hash {
                    mark.unread = mark.unread ?? last.unread
                    result[mark.domain]?.removeLast()
                }
                result[mark.domain, default: []].append(mark)
            }
        }
        return result
    }

    /// Returns the domains whose last certain version is marked behind a position.
    func domainsMarked(after position: Int) -> Set<Domain> {
        var domains: Set<Domain> = []
        for entry in entries.values where entry.position >= position {
            for mark in entry.marks where !mark.isIntent { domains.insert(mark.domain) }
        }
        return domains
    }
}
