import DefaultsCore
import NIOCore

/// What stands in the way of saving domains, and since when.
///
/// Pure; it knows no clock.
struct SaveObstacles {
    /// The time after which a file that a program has open for writing is replaced all the same.
    static let openLimit = TimeAmount.seconds(1)
    /// The same for one that is opened anew again and again.
    static let reopenedLimit = TimeAmount.seconds(5)
    /// The time after which a save that something stands in the way of has failed.
    static let limit = TimeAmount.seconds(10)

    private struct Obstacle {
        /// When the first attempt in a row was made that didn't succeed.
        var since: NIODeadline
        /// When the file was first found open, unless it was closed since.
        var openSince: NIODeadline?
    }

    private var obstacles: [Domain: Obstacle] = [:]

    /// Notes that an attempt didn't succeed.
    mutating func note(_ error: DefaultsError, of domain: Domain, at now: NIODeadline) {
        var obstacle = obstacles[domain] ?? Obstacle(since: now)
        // With the lock in the way nobody looked at the file.
        if error.code == .openForWriting { obstacle.openSince = obstacle.openSince ?? now }
        obstacles[domain] = obstacle
    }

    /// Notes that a program has closed the file, or put another in its place: whoever has it open next begins anew.
    mutating func noteChange(of domain: Domain) {
        obstacles[domain]?.openSince = nil
    }

    /// Forgets what stood in the way of a domain.
    mutating func remove(_ domain: Domain) {
        obstacles[domain] = nil
    }

    /// The way to make the next attempt.
    func policy(for domain: Domain, at now: NIODeadline) -> ObstaclePolicy {
        guard let obstacle = obstacles[domain], let openSince = obstacle.openSince else { return .report }
        return now - openSince >= Self.openLimit || now - obstacle.since >= Self.reopenedLimit ? .override : .report
    }

    /// Whether something has stood in a domain's way for too long.
    func areTooLong(of domain: Domain, at now: NIODeadline) -> Bool {
        obstacles[domain].map { now - $0.since >= Self.limit } ?? false
    }
}
