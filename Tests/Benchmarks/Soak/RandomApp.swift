import ArgumentParser
import DefaultsKit
import Foundation
import PropertyList
import Synchronization

/// A process of the soak test `random`, which plays its part until it receives a line.
///
/// It prints what it finds to be wrong, as `fault …`, and at the end what must be true from then on.
struct RandomApp: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "random-app", shouldDisplay: false)

    /// The part of a process.
    enum Role: String, CaseIterable, ExpressibleByArgument, Sendable {
        /// Edits keys of its own on several threads, and compares each with a model after each edit.
        case write
        /// Increments a count that all processes share, in several tasks and on a thread.
        case count
        /// Moves amounts between two keys that all processes share, so that their sum stays zero.
        case move
        /// Follows the shared keys with each kind of stream.
        case observe
    }

    static let count = DefaultsKey("count", default: 0)
    static let left = DefaultsKey("left", default: 0)
    static let right = DefaultsKey("right", default: 0)

    @Argument var domain: String
    @Argument var role: Role
    @Argument var prefix: String

    func run() throws {
        guard let defaults = Defaults(suiteName: domain) else { throw ExitCode(64) }
        Defaults.setProblemHandler { problem in
            // The agent comes and goes, and unsaved edits are saved later.
            if problem.code != .agent, problem.code != .saving { Self.fault("\(problem)") }
        }
        let work = RandomWork()
        switch role {
        case .write:
            for thread in 0..<3 {
                work.onThread { [prefix] isActive in
                    var writer = RandomWriter(defaults, prefix: "\(prefix).\(thread)")
                    while isActive() { writer.act() }
                    writer.finish()
                }
            }
        case .count:
            let tally = Tally()
            for _ in 0..<4 {
                work.inTask { isActive in
                    while isActive() { await tally.count { try await defaults.update(Self.count) { $0 += 1 } } }
                }
            }
            work.onThread { isActive in
                while isActive() { tally.count { try defaults.update(Self.count) { $0 += 1 } } }
            }
            work.finish()
            ChildLines.say("counted \(tally.line)")
        case .move:
            let tally = Tally()
            for _ in 0..<2 {
                work.onThread { isActive in
                    while isActive() { tally.count { try Self.moveAmount(in: defaults) } }
                }
            }
            work.finish()
            ChildLines.say("moved \(tally.line)")
        case .observe:
            RandomObserver(defaults).run(work)
        }
        work.finish()
        ChildLines.say("done")
    }

    private static func moveAmount(in defaults: Defaults) throws {
        let amount = Int.random(in: -9...9)
        @Sendable func move(_ values: inout DefaultsTransaction) {
            values[left] -= amount
            values[right] += amount
        }
        if Bool.random() { try defaults.store(move) } else { defaults.withTransaction(move) }
        let values = defaults.values()
        guard case .integer(let left) = values["left"], case .integer(let right) = values["right"] else {
            return fault("The two keys aren't both set after a move.")
        }
        if left + right != 0 { fault("The sum of \(left) and \(right) isn't zero after a move.") }
    }

    static func fault(_ text: String) { ChildLines.say("fault \(text)") }
}

/// The numbers of calls that returned, and of those that threw: these may have been made nevertheless.
private final class Tally: Sendable {
    private let made = Atomic(0)
    private let uncertain = Atomic(0)

    var line: String { "\(made.load(ordering: .relaxed)) \(uncertain.load(ordering: .relaxed))" }

    func count(_ call: () throws -> Void) {
        do {
            try call()
            made.add(1, ordering: .relaxed)
        } catch {
            uncertain.add(1, ordering: .relaxed)
        }
    }

    func count(_ call: () async throws -> Void) async {
        do {
            try await call()
            made.add(1, ordering: .relaxed)
        } catch {
            uncertain.add(1, ordering: .relaxed)
        }
    }
}

/// The threads and tasks of a process.
final class RandomWork: Sendable {
    private let hasEnded = Atomic(false)
    private let group = DispatchGroup()

    private var isActive: Bool { !hasEnded.load(ordering: .relaxed) }

    func onThread(_ body: @escaping @Sendable (_ isActive: () -> Bool) -> Void) {
        group.enter()
        Thread.detachNewThread { [self] in
            body { isActive }
            group.leave()
        }
    }

    func inTask(_ body: @escaping @Sendable (_ isActive: @Sendable () -> Bool) async -> Void) {
        group.enter()
        Task {
            await body { self.isActive }
            group.leave()
        }
    }

    /// Waits for the line that ends the work.
    func finish() {
        if isActive { _ = readLine() }
        end()
    }

    /// Ends the work, and waits until all of it has ended.
    func end() {
        hasEnded.store(true, ordering: .relaxed)
        group.wait()
    }
}
