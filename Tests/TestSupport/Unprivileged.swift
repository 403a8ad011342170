import Foundation
import Glibc
import Synchronization

/// Runs a body on a new thread that accesses files as the user "nobody", if the test runs as root.
///
/// `setfsuid` affects only the calling thread and removes root's right to bypass permissions, so other tests are
/// unaffected. If the test doesn't run as root, it has no such right, and the body runs directly.
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
        guard let value = result.withLock({ $0 }) else { fatalError("The thread ended without a result.") }
        return value
    }
}

/// Calls `setfsuid`, which Swift's Glibc module leaves out.
private func setFileSystemUser(_ uid: uid_t) {
    typealias Function = @convention(c) (uid_t) -> Int32
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "setfsuid") else { fatalError("The C library has no setfsuid.") }
    _ = unsafeBitCast(symbol, to: Function.self)(uid)
}
