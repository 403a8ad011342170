import Foundation
import Synchronization

/// Runs one body on a background thread while another runs on this thread, then stops the first and waits for its end.
///
/// The background body must stop when the function passed to it, `mayGoOn`, returns `false`.
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
