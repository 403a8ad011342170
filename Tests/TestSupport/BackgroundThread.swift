import Foundation
import Synchronization

/// Runs one body on a thread of its own while another runs here; then tells the first to stop, and waits for its end.
///
/// The first one asks the function that it is given whether it may go on.
package func withBackgroundThread<Value>(
    _ background: @escaping @Sendable (_ mayGoOn: @Sendable () -> Bool) -> Void, while body: () throws -> Value
) rethrows -> Value {
    let control = Control()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        background { control.mayGoOn.load(ordering: .relaxed) }
        done.signal()
    }
    thread.start()
    defer {
        control.mayGoOn.store(false, ordering: .relaxed)
        done.wait()
    }
    return try body()
}

private final class Control: Sendable {
    let mayGoOn = Atomic(true)
}
