import Foundation

/// Runs a closure on several threads concurrently, and waits for all of them.
func concurrently(_ threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for thread in 0..<threads {
        group.enter()
        Thread.detachNewThread {
            body(thread)
            group.leave()
        }
    }
    group.wait()
}
