import DefaultsKit
import Dispatch
import Foundation
import Linux

/// The live updates of Foundation's instances: a task for each domain that they search.
final class LiveUpdates: Sendable {
    static let shared = LiveUpdates()

    /// The followed instances and their tasks; no other code is called while the lock is held.
    private let state = ForkSafeMutex(LiveUpdatesState())
    /// The queue on which instances are synchronized and notifications posted, one at a time.
    ///
    /// Both may block, which tasks in Swift's pool must not do.
    private let queue = DispatchQueue(label: "DefaultsFoundation.LiveUpdates")

    /// Follows the domains of `standard`, and of other instances, keyed by the names of their suites.
    func enable(_ suites: [String: Foundation.UserDefaults]) {
        BundleIdentifier.suggest()
        let global = DefaultsKit.UserDefaults.globalDomain
        var instances = [
            FollowedInstance(defaults: .standard, names: [BundleIdentifier.ofFoundation, global])
        ]
        for (name, defaults) in suites {
            instances.append(FollowedInstance(defaults: defaults, names: [name, global]))
        }
        for instance in instances {
            let (names, round) = state.withLock { ($0.add(instance), $0.round) }
            for name in names { follow(name, in: round) }
        }
        // Catch up with changes made before the domains were followed.
        DefaultsKit.UserDefaults.standard.synchronize()
        for instance in instances { instance.defaults.synchronize() }
    }

    /// Stops following all domains.
    func disable() {
        for task in state.withLock({ $0.end() }) { task.cancel() }
    }

    private func follow(_ name: String, in round: Int) {
        // Load the values and create the iterator here, not in the task, so that no later change is missed.
        do {
            try DefaultsKit.UserDefaults.standard.loadSuite(named: name)
        } catch {
            return DefaultsKit.UserDefaults.report(error)
        }
        let events = DefaultsKit.UserDefaults.standard.changes(in: .domain(name)).makeAsyncIterator()
        let task = Task {
            var events = events
            while let event = try? await events.next() {
                switch event {
                case .change, .gap: await self.report(of: event, in: name)
                case .overruled, .damaged, .unsaved, .recovered: break
                }
            }
        }
        if !state.withLock({ $0.begin(task, for: name, in: round) }) { task.cancel() }
    }

    private func report(of event: DefaultsEvent, in name: String) async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.update(self.state.withLock { $0.instances(searching: name) }, after: event)
                continuation.resume()
            }
        }
    }

    private func update(_ instances: [FollowedInstance], after event: DefaultsEvent) {
        if instances.isEmpty { return }
        // An app's edit is reported as soon as the agent has it, before it is saved, but Foundation reads only files.
        DefaultsKit.UserDefaults.standard.synchronize()
        for instance in instances {
            instance.defaults.synchronize()
            NotificationCenter.default.post(
                name: Foundation.UserDefaults.didChangeNotification, object: instance.defaults,
                userInfo: ChangeNotifications.userInfo(of: event))
        }
    }
}

/// The followed instances and the tasks that follow their domains.
struct LiveUpdatesState {
    private var instances: [FollowedInstance] = []
    /// The tasks, keyed by the names of their domains; `nil` while a task is about to start.
    private var tasks: [String: Task<Void, Never>?] = [:]
    /// The number of times that all tasks have been stopped.
    private(set) var round = 0

    /// Adds an instance.
    ///
    /// - Returns: The names of the domains that need a task.
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

    /// Adds a task that has started.
    ///
    /// - Returns: Whether the task may continue; live updates may have been stopped in the meantime.
    mutating func begin(_ task: Task<Void, Never>, for name: String, in round: Int) -> Bool {
        guard round == self.round else { return false }
        tasks[name] = .some(task)
        return true
    }

    /// Returns the instances that search a domain.
    func instances(searching name: String) -> [FollowedInstance] { instances.filter { $0.names.contains(name) } }

    /// Stops following all domains.
    ///
    /// - Returns: The tasks to cancel.
    mutating func end() -> [Task<Void, Never>] {
        defer { self = LiveUpdatesState(round: round + 1) }
        return tasks.values.compactMap { $0 }
    }

    init(round: Int = 0) {
        self.round = round
    }
}
