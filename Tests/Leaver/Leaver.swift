import DefaultsKit
import Glibc

/// A program that sets defaults and ends immediately, by `exit` unless the scene says otherwise.
///
/// `Leaver <scene> <suite>` plays a scene.
@main
struct Leaver {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let scene = Scene(rawValue: arguments[1]) else {
            print("usage: Leaver <scene> <suite>")
            exit(64)
        }
        scene.play()
    }
}

/// A scene: the values that the program sets, and the way it ends.
enum Scene: String {
    /// One key, a hundred thousand times.
    case burst
    /// Two keys in turn, fifty thousand times each.
    case turns
    /// Twenty thousand keys.
    case keys
    /// A key, and one key each in a handler registered with `atexit` before and after the first use of the library.
    case handlers
    /// A key in each of 30 threads, which then call `exit` simultaneously.
    case threads
    /// Two flags, followed by an end without any handler: by `_exit`, a trap, or a signal.
    case leaveAtOnce, trap, terminate, interrupt
    /// A key in a loop, until the handler of SIGUSR1 calls `exit`. Prints a line first.
    case exitInHandler
    /// A count that is incremented as often as `COUNTS` says, by `update` or in a transaction.
    case updates, transactions
    /// The same by `update`, while agents start and die. Prints the number of failed updates, whose effect is unknown.
    case uncertainUpdates
    /// The key "size", to the number in `COUNTS`.
    case size

    func play() {
        switch self {
        case .burst:
            let defaults = suite()
            for number in 1...100_000 { defaults.set(number, forKey: "key") }
        case .turns:
            let defaults = suite()
            for number in 1...50_000 {
                defaults.set(number, forKey: "even")
                defaults.set(number, forKey: "odd")
            }
        case .keys:
            let defaults = suite()
            for number in 1...20_000 { defaults.set(number, forKey: "key\(number)") }
        case .handlers:
            atexit { suite().set(1, forKey: "early") }
            suite().set(1, forKey: "key")
            atexit { suite().set(1, forKey: "late") }
        case .threads:
            pthread_barrier_init(&together, nil, 30)
            for number in 0..<30 {
                var thread = pthread_t()
                let argument = UnsafeMutableRawPointer(bitPattern: number + 1)
                pthread_create(&thread, nil, { setAndExit($0) }, argument)
            }
            while true { pause() }
        case .leaveAtOnce:
            setFlags()
            _exit(0)
        case .trap:
            setFlags()
            fatalError("The scene ends here.")
        case .terminate:
            setFlags()
            raise(SIGTERM)
        case .interrupt:
            setFlags()
            raise(SIGINT)
        case .exitInHandler:
            let defaults = suite()
            defaults.set(0, forKey: "key")
            defaults.synchronize()
            signal(SIGUSR1) { _ in exit(0) }
            print("ready")
            fflush(nil)
            for number in 1... { defaults.set(number, forKey: "key") }
        case .updates: count { defaults throws in try defaults.update(.count) { $0 += 1 } }
        case .transactions: count { defaults in defaults.withTransaction { $0[.count] += 1 } }
        case .uncertainUpdates:
            var failures = 0
            let defaults = suite()
            var left = times
            while left > 0 {
                do {
                    try defaults.update(.count) { $0 += 1 }
                    left -= 1
                } catch {
                    failures += 1
                }
            }
            print(failures)
        case .size: suite().set(times, forKey: "size")
        }
    }

    private var times: Int { getenv("COUNTS").flatMap { Int(String(cString: $0)) } ?? 0 }

    private func setFlags() {
        let defaults = suite()
        defaults.set(true, forKey: "first")
        defaults.set(true, forKey: "second")
    }

    private func count(_ raise: (UserDefaults) throws -> Void) {
        let defaults = suite()
        do {
            for _ in 0..<times { try raise(defaults) }
        } catch {
            print(error)
            exit(1)
        }
    }
}

extension DefaultsKey where Value == Int {
    fileprivate static var count: Self { Self("count", default: 0) }
}

nonisolated(unsafe) private var together = pthread_barrier_t()

private func suite() -> UserDefaults {
    guard let defaults = UserDefaults(suiteName: CommandLine.arguments[2]) else { exit(65) }
    return defaults
}

private func setAndExit(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let number = Int(bitPattern: argument)
    suite().set(number, forKey: "key\(number)")
    pthread_barrier_wait(&together)
    exit(0)
}
