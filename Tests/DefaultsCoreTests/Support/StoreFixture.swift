import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

/// A directory with one domain, and the stores that use it.
struct StoreFixture {
    let directory: String
    let domain: Domain

    init(_ directory: String) throws {
        self.directory = directory
        self.domain = try Domain("org.example.app")
    }

    /// The path of the domain's file.
    var path: String { "\(directory)/org.example.app.plist" }
    /// The path of the log file, outside the preferences directory.
    var logPath: String { directory + ".log" }
    /// A journal with that log, and with an archive beside it.
    var journal: Journal { Journal(at: LogLocation(log: logPath)) }

    func store(limits: PropertyListLimits = PropertyListLimits()) -> Store {
        Store(directory: PreferencesDirectory(path: directory), limits: limits)
    }

    /// Returns a store that has read the directory and keeps its log in a file.
    func storeWithLog(sizeLimit: Int = 1 << 20) throws -> Store {
        let store = Store(directory: PreferencesDirectory(path: directory), journal: journal)
        store.beginJournal(sizeLimit: sizeLimit)
        #expect(store.journal?.problem == nil)
        _ = try store.start(resuming: nil)
        return store
    }

    /// Returns a store that resumes the log of an earlier store, as an agent does after a crash.
    func resumedStore() throws -> Store {
        guard let recovered = try intactLog(from: logPath, limits: PropertyListLimits()) else {
            throw DefaultsError(.damaged, "The log wasn't recovered.")
        }
        let log = ChangeLog(epoch: recovered.epoch, head: recovered.head, records: recovered.records)
        let store = Store(directory: PreferencesDirectory(path: directory), log: log, journal: journal)
        _ = try store.start(resuming: recovered)
        store.beginJournal(continuing: recovered)
        #expect(store.journal?.problem == nil)
        return store
    }

    @discardableResult
    func edit(_ store: Store, _ values: Difference, at time: Timestamp = .now()) -> Revision {
        store.edit(EditRequest(domain: domain, values: values, time: time, writer: .testApp))
    }

    /// Reloads the domain's file and confirms losses immediately.
    func look(_ store: Store) {
        _ = store.reload([domain], losses: .believe)
    }

    /// Writes the file as a foreign writer does, with a change time later than now.
    ///
    /// File times advance in ticks and lag by up to one tick, so this may take several attempts.
    func writeLater(_ values: DomainValues) throws {
        let now = Timestamp.now()
        let bytes = try PropertyListValue.dictionary(values).write(as: .xml)
        let isLater = try eventually {
            try RawFile.write(bytes, to: path)
            var status = stat()
            return stat(path, &status) == 0 && FileIdentity(status).changed > now
        }
        #expect(isLater)
    }

    func values(_ store: Store) -> DomainValues { store.snapshot(of: domain).values }
}

/// Runs a test with a directory and a domain, and removes them and the log afterwards.
func withStoreFixture(_ body: (StoreFixture) throws -> Void) throws {
    try withTemporaryDirectory { path in
        let directory = path + "/d"
        try RawFile.makeDirectory(directory)
        try body(StoreFixture(directory))
    }
}

extension Store {
    /// Applies an edit that there is no reason to refuse.
    @discardableResult
    func edit(_ request: EditRequest) -> Revision {
        do throws(DefaultsError) {
            return try submit(request).revision
        } catch {
            Issue.record(error)
            return cursor.revision
        }
    }

    /// Saves all pending edits, and returns the domains that couldn't be saved, and why.
    func saveAll() -> [(domain: Domain, error: DefaultsError)] {
        pending().compactMap { domain, _ in
            do throws(DefaultsError) {
                try save(domain)
                return nil
            } catch {
                return (domain, error)
            }
        }
    }

    /// All records in the log.
    var records: [LogRecord] { state.withLock { $0.log.records(after: $0.log.oldest - 1) ?? [] } }

    /// A short text for each record.
    var events: [String] {
        records.map { record in
            switch record.event {
            case .change(let changeSet):
                "\(changeSet.source == .file ? "file" : "app"): \(changeSet.changes.map(\.key).joined(separator: " "))"
            case .damaged: "damaged"
            case .unsaved: "unsaved"
            case .recovered: "recovered"
            case .unknown: "unknown"
            }
        }
    }
}

/// Waits until new file times are later than all earlier ones.
func letTimePass() {
    let now = Timestamp.now()
    #expect(eventually { Timestamp.now().nanoseconds > now.nanoseconds + 20_000_000 })
}
