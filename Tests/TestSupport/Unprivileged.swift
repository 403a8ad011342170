import Foundation
import Glibc
import Synchronization

/// Runs a body on a thread of its own that accesses files as the user "nobody", when the test runs as root.
///
/// `setfsuid` counts for the calling thread alone, and takes from it root's right to pass over permissions; so other
/// tests go on as they were. A test that doesn't run as root has no such right, and the body just runs.
package func asUnprivileged<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
    guard geteuid() == 0 else { return body() }
    let box = Box<Value>()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        setFileSystemUser(65_534)
        box.set(body())
        done.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    done.wait()
    return box.take()
}

private final class Box<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)

    func set(_ value: Value) {
        result.withLock { $0 = value }
    }

    func take() -> Value {
        guard let value = result.withLock({ $0 }) else { fatalError("The thread has ended without a result.") }
        return value
    }
}

/// `setfsuid`, which Swift's Glibc module leaves out.
private func setFileSystemUser(_ uid: uid_t) {
    typealias Function = @convention(c) (uid_t) -> Int32
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "setfsuid") else { fatalError("The C library has no setfsuid.") }
    _ = unsafeBitCast(symbol, to: Function.self)(uid)
}
