import ProgramSupport
import TestSupport

/// A trial's work, recorded from the start of the subject on, and the states in which a power failure may leave it.
struct RecordedDisk {
    let states: DiskStates
    private let trial: Trial
    private let records: [RecordedCall]
    /// The writes before the subject started.
    private let ledger: Ledger

    /// The number of records.
    var count: Int { records.count }

    /// Runs the work.
    init(_ trial: Trial) throws {
        self.trial = trial
        trial.records = true
        trial.mayHaveGaps = true
        var before: (tree: DiskTree, ledger: Ledger)?
        try RawFile.write("11111111-1111-4111-8111-111111111111\n", to: trial.intervention.bootPath)
        trial.beforeSubject = { trial in
            before = (try DiskTree(reading: trial.place.root), trial.ledger)
            trial.intervention.arm(.record)
        }
        try trial.begin()
        _ = trial.work().finish()
        trial.intervention.disarm()
        records = try RecordedCall.read(trial.intervention.recordPath)
        guard let before else { throw TestSystemError("no beginning") }
        ledger = before.ledger
        states = DiskStates(before.tree, records, below: trial.place.root)
    }

    /// Lets the power fail after a number of records.
    func fail(at point: Int, _ rest: DiskStates.Rest) throws {
        trial.failPower(at: point == 0 ? 0 : records[point - 1].end, before: ledger)
        for name in namesOfFiles(in: trial.place.root) { removeTree(trial.place.root + "/" + name) }
        let files = try states.tree(at: point, rest).write(to: trial.place.root)
        try files.withUnsafeBytes { try RawFile.write(Array($0), to: trial.intervention.restoredPath) }
        try RawFile.write("22222222-2222-4222-8222-222222222222\n", to: trial.intervention.bootPath)
    }

    /// Returns the last call before the power fails, and the changes that may be missing then.
    func description(of point: Int) -> String {
        let call =
            point == 0
            ? "the start" : "\(records[point - 1].name) \(records[point - 1].path.dropFirst(trial.place.root.count))"
        return "\(call), with \(states.description(at: point))"
    }
}
