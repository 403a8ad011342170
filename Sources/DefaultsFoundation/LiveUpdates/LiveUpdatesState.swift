import Foundation

/// Which of Foundation's instances are followed, and by which tasks.
struct LiveUpdatesState {
    private var instances: [FollowedInstance] = []
    /// By the name of the domain that each follows; `nil` while it is about to begin.
    private var tasks: [String: Task<Void, Never>?] = [:]
    /// How often all has been ended.
    private(set) var round = 0

    /// Adds an instance.
    ///
    /// - Returns: the names that a task is to be begun for.
    mutating func add(_ instance: FollowedInstance) -> [String] {
        if let index = instances.firstIndex(where: { $0.defaults === instance.defaults }) {
            instances[index].names.formUnion(instance.names)
        } else {
            instances.append(instance)
        }
        let new = instance.names.filter { tasks[$0] == nil }.sorted()
        for name in new { tasks[name] = .some(nil) }
        return new
    }

    /// Takes a task that has begun.
    ///
    /// - Returns: whether it may go on: all may have been ended since.
    mutating func begin(_ task: Task<Void, Never>, for name: String, in round: Int) -> Bool {
        guard round == self.round else { return false }
        tasks[name] = .some(task)
        return true
    }

    /// The instances that search a domain.
    func instances(searching name: String) -> [FollowedInstance] { instances.filter { $0.names.contains(name) } }

    /// Ends all.
    ///
    /// - Returns: the tasks, to be cancelled.
    mutating func end() -> [Task<Void, Never>] {
        defer { self = LiveUpdatesState(round: round + 1) }
        return tasks.values.compactMap { $0 }
    }

    init(round: Int = 0) {
        self.round = round
    }
}
