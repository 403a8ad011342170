import CForks
import DefaultsKit
import Glibc
import Synchronization

/// A program that uses the library, forks, and uses the library in the child too.
///
/// `Forker <scene> <suite>` plays a scene and ends with status 0 if it succeeds.
@main
struct Forker {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let scene = Scene(rawValue: arguments[1]),
            let defaults = UserDefaults(suiteName: arguments[2])
        else {
            print("usage: Forker <scene> <suite>")
            exit(64)
        }
        scene.play(defaults)
    }
}

/// A scene: the actions of the parent and of the child.
enum Scene: String {
    /// The child reads a suite that the parent has read, and one that it hasn't.
    case read
    /// The child sets and synchronizes.
    case synchronize
    /// The child sets and exits.
    case exit
    /// The child exits without doing anything, while an edit of the parent is unsaved.
    case idle
    /// The child reads what the parent has just set, and then what the parent sets later.
    case inherit
    /// The grandchild continues alone, as after `daemon(3)`.
    case daemon
    /// The child outlives its parent and does nothing.
    case stay
    /// The parent sets a key and ends immediately; the child updates the key.
    case orphan
    /// The parent follows a key; the child sets it, and follows it too.
    case follow
    /// Tasks of the parent wait for values and for saves while it forks; a child must not resume them.
    case tasks
    /// The parent and the child receive reports of problems.
    case problem
    /// Threads set, read and synchronize while others fork.
    case storm

    func play(_ defaults: UserDefaults) {
        switch self {
        case .read:
            demand(defaults.string(forKey: "seed") == "s", "The parent reads.")
            child {
                demand(defaults.string(forKey: "seed") == "s", "The child reads.")
                demand(defaults.string(forKey: "none") == nil, "The child finds no value for a missing key.")
                demand(
                    UserDefaults(suiteName: "org.example.other")?.string(forKey: "a") == nil,
                    "The child reads another suite.")
                demand(UserDefaults.standard.string(forKey: "none") == nil, "The child reads the standard defaults.")
            }
        case .synchronize:
            defaults.set(1, forKey: "parent")
            demand(defaults.synchronize(), "The parent synchronizes.")
            child {
                defaults.set(2, forKey: "child")
                demand(defaults.integer(forKey: "child") == 2, "The child reads its edit.")
                demand(defaults.synchronize(), "The child synchronizes.")
                _exit(0)
            }
            demand(defaults.synchronize(), "The parent synchronizes again.")
            demand(defaults.integer(forKey: "child") == 2, "The parent sees the child's edit.")
        case .exit:
            defaults.set(1, forKey: "parent")
            child { defaults.set(2, forKey: "child") }
            demand(defaults.synchronize(), "The parent synchronizes.")
            demand(defaults.integer(forKey: "child") == 2, "The parent sees the child's edit.")
        case .idle:
            // The key changes before the child ends: the child must not send the old value again.
            defaults.set("old", forKey: "key")
            let signal = Signal()
            let pid = fork { demand(signal.wait(), "The parent has continued.") }
            demand(defaults.synchronize(), "The parent synchronizes.")
            defaults.set("new", forKey: "key")
            demand(defaults.synchronize(), "The parent synchronizes again.")
            let began = now()
            signal.tell()
            demand(forks_wait(pid) == 0, "The child ends.")
            demand(now() < began + 2_000, "The child ends immediately.")
            demand(defaults.synchronize(), "The parent synchronizes a third time.")
            demand(defaults.string(forKey: "key") == "new", "The parent's edit is sent once.")
        case .inherit:
            demand(defaults.string(forKey: "seed") == "s", "The parent reads.")
            defaults.set("a", forKey: "seed")
            defaults.set("b", forKey: "seed")
            defaults.removeObject(forKey: "gone")
            let (isRead, saved) = (Signal(), Signal())
            let pid = fork {
                demand(defaults.string(forKey: "seed") == "b", "The child reads the parent's edit.")
                demand(defaults.string(forKey: "gone") == nil, "The child doesn't see the key that the parent removed.")
                isRead.tell()
                demand(saved.wait(), "The parent has saved.")
                demand(defaults.synchronize(), "The child synchronizes.")
                demand(defaults.string(forKey: "seed") == "c", "The child reads what the parent set later.")
                _exit(0)
            }
            demand(isRead.wait(), "The child has read.")
            defaults.set("c", forKey: "seed")
            demand(defaults.synchronize(), "The parent synchronizes.")
            saved.tell()
            demand(forks_wait(pid) == 0, "The child sees the parent's edits.")
        case .daemon:
            defaults.set(1, forKey: "parent")
            let done = Signal()
            child {
                defaults.set(2, forKey: "child")
                fork {
                    demand(defaults.integer(forKey: "child") == 2, "The grandchild reads.")
                    defaults.set(3, forKey: "grandchild")
                    demand(defaults.synchronize(), "The grandchild synchronizes.")
                    done.tell()
                    _exit(0)
                }
            }
            demand(done.wait(), "The grandchild is done.")
            demand(defaults.synchronize(), "The parent synchronizes.")
            for (number, key) in ["parent", "child", "grandchild"].enumerated() {
                demand(defaults.integer(forKey: key) == number + 1, "The parent sees all edits.")
            }
        case .orphan:
            demand(defaults.integer(forKey: "count") == 0, "The parent reads.")
            defaults.set(5, forKey: "count")
            fork {
                let began = now()
                do { try defaults.update(DefaultsKey<Int>("count", default: 0)) { $0 += 1 } } catch {
                    demand(false, "The child updates: \(error)")
                }
                demand(now() < began + 30_000, "The child updates soon.")
                put("\(defaults.integer(forKey: "count"))", to: STDOUT_FILENO)
                _exit(0)
            }
            _exit(0)
        case .stay:
            demand(defaults.string(forKey: "seed") == "s", "The parent reads.")
            fork {
                // Stays until the test sends a line.
                _ = readLine()
                _exit(0)
            }
            put("\(getpid())", to: STDOUT_FILENO)
            _exit(0)
        case .follow:
            let key = DefaultsKey<Int>("count", default: 0)
            let followed = Atomic(-1)
            let begun = Signal()
            let updates = defaults.updates(of: key)
            let follower = Task {
                for await value in updates {
                    if value == 0 { begun.tell() }
                    followed.store(value, ordering: .relaxed)
                }
            }
            demand(begun.wait(), "The parent follows.")
            child {
                for number in 1...100 { defaults[key] = number }
                demand(defaults.synchronize(), "The child synchronizes.")
                demand(defaults[key] == 100, "The child reads.")
                _ = updates.makeAsyncIterator()
            }
            demand(comes { followed.load(ordering: .relaxed) == 100 }, "The parent follows the child's edits.")
            follower.cancel()
        case .tasks: playTasks(defaults)
        case .problem:
            let reports = Atomic(0)
            UserDefaults.setProblemHandler { _ in reports.add(1, ordering: .relaxed) }
            _ = UserDefaults(suiteName: "org.example.broken")?.string(forKey: "a")
            demand(comes { reports.load(ordering: .relaxed) == 1 }, "The parent's damaged file is reported.")
            child {
                _ = UserDefaults(suiteName: "org.example.damaged")?.string(forKey: "a")
                demand(comes { reports.load(ordering: .relaxed) == 2 }, "The child's damaged file is reported.")
            }
        case .storm: playStorm(defaults)
        }
    }
}

/// Plays the tasks: they set, save and load suites in the parent, which forks meanwhile.
private func playTasks(_ defaults: UserDefaults) {
    let rounds = Atomic(0)
    let mayGoOn = Atomic(true)
    // No child is forked before the parent has made the children's calls and each task's code has run (`playStorm`).
    let warmedUp = Atomic(0)
    defaults.set(0, forKey: "parent")
    demand(defaults.synchronize(), "The parent synchronizes before its tasks begin.")
    let parent = getpid()
    let tasks = (0..<2).map { worker in
        Task.detached { @Sendable in
            var number = 0
            while mayGoOn.load(ordering: .relaxed) {
                number += 1
                defaults.set(number, forKey: "task\(worker)")
                do { try await defaults.save() } catch { demand(false, "A task saves: \(error)") }
                let suite = UserDefaults(suiteName: "org.example.task\(worker).\(number % 200)")
                for await value in (suite ?? defaults).updates(of: DefaultsKey<Int>("none", default: 7)) {
                    demand(value == 7, "A task reads.")
                    break
                }
                demand(getpid() == parent, "A child doesn't run the parent's tasks.")
                rounds.add(1, ordering: .relaxed)
                if number == 20 { warmedUp.add(1, ordering: .relaxed) }
            }
        }
    }
    demand(comes { warmedUp.load(ordering: .relaxed) == 2 }, "The parent's tasks work.")
    for number in 0..<40 {
        let before = rounds.load(ordering: .relaxed)
        child {
            defaults.set(number, forKey: "child\(number)")
            demand(defaults.synchronize(), "A child synchronizes.")
            _exit(0)
        }
        demand(comes { rounds.load(ordering: .relaxed) > before }, "The parent's tasks go on.")
    }
    mayGoOn.store(false, ordering: .relaxed)
    let ended = Atomic(false)
    Task.detached { @Sendable in
        for task in tasks { await task.value }
        ended.store(true, ordering: .relaxed)
    }
    demand(comes { ended.load(ordering: .relaxed) }, "The parent's tasks end.")
    demand(defaults.synchronize(), "The parent synchronizes.")
    for number in 0..<40 {
        demand(defaults.object(forKey: "child\(number)") as? Int == number, "No child's edit is lost.")
    }
}

/// Plays the storm: threads set, read and synchronize at full speed while two others fork, and each child sets a key.
private func playStorm(_ defaults: UserDefaults) {
    let mayGoOn = Atomic(true)
    // Swift's runtime holds a lock while it makes a generic type or a lazy global, and a child that is forked at that
    // moment would wait for the lock forever. So no child is forked before each thread's code has run.
    let warmedUp = Atomic(0)
    child { defaults.set(0, forKey: "first") }
    let workers = (0..<3).map { worker in
        thread {
            var number = 0
            while mayGoOn.load(ordering: .relaxed) {
                number += 1
                if number == 50 { warmedUp.add(1, ordering: .relaxed) }
                switch worker {
                case 0:
                    defaults.set(number, forKey: "worker")
                    // The thread that saves edits is slower than this one, so its queue must be bounded.
                    if number % 100 == 0 { demand(defaults.synchronize(), "A worker synchronizes.") }
                case 1: _ = defaults.integer(forKey: "worker")
                default: demand(defaults.synchronize(), "A worker synchronizes.")
                }
            }
        }
    }
    demand(comes { warmedUp.load(ordering: .relaxed) == 3 }, "The workers work.")
    let forkers = (0..<2).map { forker in
        thread {
            for number in 0..<25 {
                child {
                    defaults.set(number, forKey: "child\(forker).\(number)")
                    demand(defaults.integer(forKey: "child\(forker).\(number)") == number, "A child reads.")
                    if number % 2 == 0 { return }
                    demand(defaults.synchronize(), "A child synchronizes.")
                    _exit(0)
                }
            }
        }
    }
    for forker in forkers { pthread_join(forker, nil) }
    mayGoOn.store(false, ordering: .relaxed)
    for worker in workers { pthread_join(worker, nil) }
    demand(defaults.synchronize(), "The parent synchronizes.")
    for forker in 0..<2 {
        for number in 0..<25 {
            demand(defaults.object(forKey: "child\(forker).\(number)") as? Int == number, "No child's edit is lost.")
        }
    }
}

// MARK: Helpers

/// Ends the process, parent or child, with a message unless a condition holds.
private func demand(_ isSo: Bool, _ what: String, line: Int = #line) {
    if isSo { return }
    put("Line \(line): This condition failed: \(what)", to: STDERR_FILENO)
    _exit(1)
}

/// Writes a line without buffering.
private func put(_ line: String, to descriptor: Int32) {
    _ = "\(line)\n".withCString { write(descriptor, $0, strlen($0)) }
}

/// Forks a child that runs a body, exits normally, and is killed if it hangs.
@discardableResult
private func fork(_ body: () -> Void) -> pid_t {
    let pid = forks_fork()
    demand(pid >= 0, "fork: \(errno)")
    if pid > 0 { return pid }
    alarm(60)
    body()
    exit(0)
}

/// Forks, waits for the child, and demands that it ends with status 0.
private func child(line: Int = #line, _ body: () -> Void) {
    let status = forks_wait(fork(body))
    demand(status == 0, "The child ended with \(status).", line: line)
}

/// Starts a thread.
private func thread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body)).toOpaque()
    let error = pthread_create(
        &thread, nil,
        { box in
            if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
            return nil
        }, box)
    demand(error == 0, "pthread_create")
    return thread
}

/// A pipe through which one process lets another continue.
private struct Signal {
    private let ends: [Int32]

    init() {
        var ends: [Int32] = [0, 0]
        demand(pipe(&ends) == 0, "pipe")
        self.ends = ends
    }

    func tell() { _ = write(ends[1], "x", 1) }

    func wait() -> Bool {
        var byte: UInt8 = 0
        return read(ends[0], &byte, 1) == 1
    }
}

/// Waits until a condition holds, for 60 s at most, and returns whether it does.
private func comes(_ isSo: () -> Bool) -> Bool {
    let deadline = now() + 60_000
    while !isSo() {
        if now() > deadline { return false }
        poll(nil, 0, 1)
    }
    return true
}

/// Returns the time in milliseconds, by a clock that can't be set.
private func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}
