import DefaultsCore
import DefaultsKit

/// From a cursor that was seen come exactly the records after it, once more.
struct Resumption {
    static let name = "Resumable"
    /// The records that came last, with their places: of more the log may have let go.
    private(set) var recent: [(record: LogRecord, cursor: Cursor)] = []
    private static let capacity = 2_000

    mutating func take(_ event: StreamEvent) {
        guard case .record(let record, let cursor) = event else { return }
        recent.append((record, cursor))
        if recent.count > 2 * Self.capacity { recent.removeFirst(Self.capacity) }
    }

    /// Compares what came with what comes to a subscriber that resumes, from the oldest of the recent places and from others.
    ///
    /// - Parameter resume: gives the records after a place, up to the end.
    /// - Returns: what differed.
    func findings(_ resume: (Cursor) throws -> [LogRecord]) rethrows -> [String] {
        var findings: [String] = []
        for start in Set([0, recent.count / 3, recent.count - 2, recent.count - 1]) where recent.indices.contains(start)
        {
            let place = recent[start].cursor
            if try resume(place) != recent[(start + 1)...].map(\.record) {
                findings.append("\(Self.name): after \(place) came something else.")
            }
        }
        return findings
    }
}
