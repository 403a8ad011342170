import DefaultsKit
import Dispatch
import Foundation
import Linux

/// What has Foundation's instances see changes from outside: a task for each domain that they search.
final class LiveUpdates: Sendable {
    static let shared = LiveUpdates()

    /// Who is followed; nothing is called under it.
    private let state = ForkSafeMutex(LiveUpdatesState())
    /// Where instances are synchronized and notifications posted, one after the other: both may take their time, which
    /// Swift's pool has not.
    private let queue = DispatchQueue(label: "DefaultsFoundation.LiveUpdates")

    /// Follows the domains of `standard`, and of instances by the name of their suites.
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
        // What has changed before it was followed.
        DefaultsKit.UserDefaults.standard.synchronize()
        for instance in instances { instance.defaults.synchronize() }
    }

    /// Follows nothing any more.
    func disable() {
        for task in state.withLock({ $0.end() }) { task.cancel() }
    }

    private func follow(_ name: String, in round: Int) {
        // Made here and not in the task: what changes from now on is in it.
        let events = DefaultsKit.UserDefaults.standard.changes(in: .domain(name)).makeAsyncIterator()
        let task = Task {
            var events = events
            while let event = await events.next() {
                switch event {
                case .change, .gap: await self.tell(of: event, in: name)
                case .damaged, .unsaved, .recovered: break
                }
            }
        }
        if !state.withLock({ $0.begin(task, for: name, in: round) }) { task.cancel() }
    }

    private func tell(of event: DefaultsEvent, in name: String) async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.update(self.state.withLock { $0.instances(searching: name) }, event)
                continuation.resume()
            }
        }
    }

    private func update(_ instances: [FollowedInstance], _ event: DefaultsEvent) {
        if instances.isEmpty { return }
        // An app's edit is told when the agent has it, which is before it is in the file; and Foundation knows files only.
        DefaultsKit.UserDefaults.standard.synchronize()
        for instance in instances {
            instance.defaults.synchronize()
            NotificationCenter.default.post(
                name: Foundation.UserDefaults.didChangeNotification, object: instance.defaults,
                userInfo: ChangeNotifications.userInfo(of: event))
        }
    }
}
