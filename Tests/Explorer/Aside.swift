import Foundation

/// Work on a thread of its own.
final class Aside: Sendable {
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread { [hasEnded] in
            body()
            hasEnded.signal()
        }
        thread.start()
    }

    /// Waits for the end of the work; returns false if it doesn't come in time.
    func finish(within seconds: Double = 90) -> Bool {
        guard hasEnded.wait(timeout: .now() + seconds) == .success else { return false }
        hasEnded.signal()
        return true
    }
}
