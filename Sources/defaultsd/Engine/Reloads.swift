import DefaultsCore
import DirectoryWatcher
import Linux

/// The reloads that are running, with the names of their domains, and those that are still to be made.
struct Reloads {
    /// The names by the reload's number; `nil` if the reload may change all domains.
    private var names: [Int: Set<DomainName>?] = [:]
    private var last = 0
    private var lastPostponed = 0
    /// The files that the disk's thread will read next; `nil` if no such job is queued.
    let postponed = ForkSafeMutex<PostponedReloads?>(nil)
    /// The files that have changed while another thread was using them.
    private var busy: Set<Domain> = []
    /// The numbers of the last drain of the watcher that was asked for, and of the last one that has begun.
    private var drains: (wanted: Int, begun: Int) = (0, 0)

    /// Returns the number of a reload that begins.
    mutating func begin(_ names: Set<DomainName>?) -> Int {
        last += 1
        self.names[last] = .some(names)
        return last
    }

    /// Adds reads for the disk's thread.
    ///
    /// - Returns: The number of the reload that begins; `nil` if one that is still queued makes the reads, too.
    mutating func postpone(_ new: PostponedReloads) -> Int? {
        let isQueued = postponed.withLock { postponed in
            defer { postponed = postponed?.union(new) ?? new }
            return postponed != nil
        }
        if !isQueued {
            lastPostponed = begin(new.names)
            return lastPostponed
        }
        if let old = names[lastPostponed] { names[lastPostponed] = .some(new.names.flatMap { old?.union($0) }) }
        return nil
    }

    /// Removes a reload that has ended.
    mutating func end(_ number: Int) { names[number] = nil }

    /// The number of the reload that began last.
    var latest: Int { last }

    /// Returns whether a reload up to a number is running that may change a domain with one of some names, or any
    /// domain if `nil`.
    func has(upTo number: Int, of wanted: Set<DomainName>?) -> Bool {
        names.contains { reload, names in
            guard reload <= number else { return false }
            guard let wanted, let names else { return true }
            return !names.isDisjoint(with: wanted)
        }
    }

    // MARK: Busy files

    /// Adds files that have changed while another thread was using them.
    mutating func addBusy(_ domains: Set<Domain>) { busy.formUnion(domains) }

    /// Returns whether there are such files of domains with some names, or of any domain if `nil`.
    func hasBusy(of names: Set<DomainName>?) -> Bool { busy.contains { names?.contains($0.name) ?? true } }

    /// Removes and returns such files of domains with some names, or of all domains if `nil`.
    mutating func dequeueBusy(of names: Set<DomainName>? = nil) -> Set<Domain> {
        let due = busy.filter { names?.contains($0.name) ?? true }
        busy.subtract(due)
        return due
    }

    // MARK: Drains

    /// Returns the number of a drain to be made.
    mutating func wantDrain() -> Int {
        drains.wanted += 1
        return drains.wanted
    }

    /// Begins a drain, which serves all who have asked for one.
    ///
    /// - Returns: False if another has begun since this one was asked for, and it isn't made again.
    mutating func beginDrain(_ number: Int, evenAgain: Bool) -> Bool {
        if !evenAgain, drains.begun >= number { return false }
        drains.begun = drains.wanted
        return true
    }
}

/// The reads that the disk's thread is asked for.
struct PostponedReloads {
    /// The domains whose files should be read.
    var domains: Set<Domain> = []
    /// Whether all files should be read.
    var isAll = false
    /// Whether the watcher's events should be read.
    var readsEvents = false
    /// Whether the manifests should be read.
    var readsManifests = false

    /// The names of the domains that may change; `nil` if all may.
    var names: Set<DomainName>? { isAll || readsEvents || readsManifests ? nil : Set(domains.map(\.name)) }

    func union(_ other: Self) -> Self {
        Self(
            domains: domains.union(other.domains), isAll: isAll || other.isAll,
            readsEvents: readsEvents || other.readsEvents, readsManifests: readsManifests || other.readsManifests)
    }
}

/// The reading of the watcher's events.
struct WatcherEvents {
    /// The reading of the signals that say that there are events.
    var signals: SignalReader?
    /// Whether events were left unread for a while and haven't been read since.
    var mayBeUnread = false
    /// The watcher's status after it was last read.
    var status: WatcherStatus
}
