import DefaultsCore
import NIOCore

/// The obstacles to saving domains, and the time when each arose.
///
/// A pure value; it has no clock.
struct SaveObstacles {
    /// The time after which a file is replaced even though a program has it open for writing.
    static let openLimit = TimeAmount.seconds(1)
    /// The corresponding limit for a file that is repeatedly opened and closed.
    static let reopenedLimit = TimeAmount.seconds(5)
    /// The time after which a blocked save counts as failed.
    static let limit = TimeAmount.seconds(10)

    private struct Obstacle {
        /// The time of the first of the consecutive blocked attempts.
        var since: NIODeadline
        /// The time at which the file was first found open, unless it has been closed since.
        var openSince: NIODeadline?
    }

    private var obstacles: [Domain: Obstacle] = [:]

    /// Records a blocked attempt.
    mutating func record(_ error: DefaultsError, of domain: Domain, at now: NIODeadline) {
        var obstacle = obstacles[domain] ?? Obstacle(since: now)
        // An attempt that failed because of the lock didn't check the file.
        if error.code == .openForWriting { obstacle.openSince = obstacle.openSince ?? now }
        obstacles[domain] = obstacle
    }

    /// Records that a program has closed or replaced the file, which is then no longer considered open.
    mutating func recordChange(of domain: Domain) {
        obstacles[domain]?.openSince = nil
    }

    /// Removes a domain's obstacle.
    mutating func remove(_ domain: Domain) {
        obstacles[domain] = nil
    }

    /// Returns the policy for the next attempt.
    func policy(for domain: Domain, at now: NIODeadline) -> ObstaclePolicy {
        guard let obstacle = obstacles[domain], let openSince = obstacle.openSince else { return .report }
        return now - openSince >= Self.openLimit || now - obstacle.since >= Self.reopenedLimit ? .override : .report
    }

    /// Returns whether a domain has been blocked too long.
    func areTooLong(of domain: Domain, at now: NIODeadline) -> Bool {
        obstacles[domain].map { now - $0.since >= Self.limit } ?? false
    }
}
