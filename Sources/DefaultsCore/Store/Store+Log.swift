import Glibc
import Linux

extension Store {
    /// Keeps the log in a file from now on, in place of what an earlier agent may have left there.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - sizeLimit: the file's size over which it is written anew; twice the log's capacity if left out.
    /// - Throws: the failure of the system call; then the log goes on in memory alone, as a new one: what is in the file can't
    ///   be followed by it.
    package func keepLog(at path: String, sizeLimit: Int? = nil) throws(DefaultsError) {
        try logFile.withLock { keeping throws(DefaultsError) in
            keeping.place = (path, sizeLimit)
            ChangeLogFile.removeLeftovers(of: path)
            do throws(DefaultsError) {
                try create(&keeping, path, sizeLimit)
            } catch {
                unlink(path)
                state.withLock { $0.beginLog() }
                throw error
            }
        }
    }

    /// Keeps the log in its file again after that was given up.
    ///
    /// - Throws: the failure of the system call; the log stays in memory.
    package func keepLogAgain() throws(DefaultsError) {
        try logFile.withLock { keeping throws(DefaultsError) in
            guard keeping.problem != nil, let (path, sizeLimit) = keeping.place else { return }
            try create(&keeping, path, sizeLimit)
        }
    }

    /// Why the log isn't kept in its file, while it isn't.
    package var logProblem: DefaultsError? { logFile.withLock { $0.problem } }

    /// Begins the file with all that the log holds.
    private func create(_ keeping: inout LogKeeping, _ path: String, _ sizeLimit: Int?) throws(DefaultsError) {
        let (log, marks) = state.withLock { state in
            state.outbox = []
            return (state.log, state.marks())
        }
        do throws(SystemCall.Failure) {
            keeping.file = try ChangeLogFile.create(
                at: path, log: log, marks: marks, sizeLimit: sizeLimit ?? 2 * log.capacity.bytes)
            keeping.problem = nil
        } catch {
            state.withLock { $0.outbox = nil }
            let problem = Self.problem(of: path, error)
            keeping.problem = problem
            throw problem
        }
    }

    private static func problem(of path: String, _ failure: SystemCall.Failure) -> DefaultsError {
        DefaultsError(
            .notSaved, errno: failure.number,
            "The change log can't be kept in \(path), so followers will meet a gap if the agent ends. The system says")
    }

    /// Tells the log's file what it hasn't been told yet.
    ///
    /// A file that can't be written is given up: the log goes on in memory, and an agent that comes later begins a new
    /// epoch, so that every cursor meets an explicit gap.
    func writeLog() {
        if let lost = logFile.withLock({ writeLog(to: &$0) }) { tellLostLog(lost) }
    }

    /// Runs a body with the state of which nothing is left to be told to the log's file: what is handed out then can't be
    /// forgotten by a crash, and its revision be given to something else.
    func withWrittenLog<Value>(_ body: (inout StoreState) -> Value) -> Value {
        let (value, lost) = logFile.withLock { keeping in
            var lost: DefaultsError?
            while true {
                lost = writeLog(to: &keeping) ?? lost
                // More may have come since.
                let value = state.withLock { state in
                    state.outbox?.isEmpty ?? true ? body(&state) : nil
                }
                if let value { return (value, lost) }
            }
        }
        if let lost { tellLostLog(lost) }
        return value
    }

    /// - Returns: why the file was given up, if it was.
    private func writeLog(to keeping: inout LogKeeping) -> DefaultsError? {
        do {
            guard keeping.file != nil, let place = keeping.place else { return nil }
            let entries = state.withLock { state in
                defer { state.outbox = [] }
                return state.outbox ?? []
            }
            do throws(SystemCall.Failure) {
                if entries.isEmpty { return nil }
                try keeping.file?.append(entries)
                if keeping.file?.isOversized == true {
                    let (log, marks) = state.withLock { state in
                        // What was posted since the entries were taken is in both.
                        state.outbox = []
                        return (state.log, state.marks())
                    }
                    try keeping.file?.rewrite(log: log, marks: marks)
                }
                return nil
            } catch {
                let isGone = keeping.file?.abandon() ?? true
                keeping.file = nil
                let problem = Self.problem(of: place.path, error)
                keeping.problem = problem
                state.withLock { state in
                    state.outbox = nil
                    // What stays in the file may be taken up by a later agent: then it must be none of what is told from now on.
                    if !isGone { state.log.beginEpoch() }
                }
                return problem
            }
        }
    }
}
