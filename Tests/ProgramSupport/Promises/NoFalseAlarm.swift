package import DefaultsCore

/// The promise that no file is reported as damaged unless a writer has left it half-written.
package struct NoFalseAlarm: StreamPromise {
    package static let name = "No false alarm"

    package func take(_ event: StreamEvent) -> String? {
        switch event {
        case .initial(let snapshot): return snapshot.damage
        case .record(let record, let cursor):
            guard case .damaged(_, let reason) = record.event else { return nil }
            return "\(reason) at \(cursor)"
        case .bookmark, .gap, .ended: return nil
        }
    }
}
