import Glibc
import Synchronization

extension Store {
    /// Keeps the log in a file from now on, in place of what an earlier agent may have left there.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - sizeLimit: the file's size over which it is written anew; twice the log's capacity if left out.
    /// - Throws: the failure of the system call; then the log goes on in memory alone, as a new one: what is in the file can't
    ///   be followed by it.
    package func keepLog(at path: String, sizeLimit: Int? = nil) throws(SystemCall.Failure) {
        try logFile.withLock { file throws(SystemCall.Failure) in
            let (log, marks) = state.withLock { state in
                state.outbox = []
                return (state.log, state.marks())
            }
            do throws(SystemCall.Failure) {
                file = try ChangeLogFile.create(
                    at: path, log: log, marks: marks, sizeLimit: sizeLimit ?? 2 * log.capacity.bytes)
            } catch {
                unlink(path)
                state.withLock { state in
                    state.outbox = nil
                    state.log = ChangeLog(capacity: log.capacity)
                }
                throw error
            }
        }
    }

    /// Tells the log's file what it hasn't been told yet.
    ///
    /// A file that can't be written is given up: the log goes on in memory, and an agent that comes later begins a new
    /// epoch, so that every cursor meets an explicit gap.
    func writeLog() {
        logFile.withLock { writeLog(to: &$0) }
    }

    /// Runs a body with the state of which nothing is left to be told to the log's file: what is handed out then can't be
    /// forgotten by a crash, and its revision be given to something else.
    func withWrittenLog<Value>(_ body: (inout StoreState) -> Value) -> Value {
        logFile.withLock { file in
            while true {
                writeLog(to: &file)
                // More may have come since.
                let value = state.withLock { state in
                    state.outbox?.isEmpty ?? true ? body(&state) : nil
                }
                if let value { return value }
            }
        }
    }

    private func writeLog(to file: inout ChangeLogFile?) {
        do {
            guard file != nil else { return }
            let entries = state.withLock { state in
                defer { state.outbox = [] }
                return state.outbox ?? []
            }
            do throws(SystemCall.Failure) {
                if entries.isEmpty { return }
                try file?.append(entries)
                if file?.isOversized == true {
                    let (log, marks) = state.withLock { state in
                        // What was posted since the entries were taken is in both.
                        state.outbox = []
                        return (state.log, state.marks())
                    }
                    try file?.rewrite(log: log, marks: marks)
                }
            } catch {
                file?.abandon()
                file = nil
                state.withLock { $0.outbox = nil }
            }
        }
    }
}
