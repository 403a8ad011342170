import ServiceLifecycle

extension Service {
    /// Waits until the agent is to end.
    ///
    /// `gracefulShutdown()` would do, if it didn't then start Dispatch's pool (see `LoopExecutor`), which ends the process
    /// when there are no descriptors for it.
    func waitForEnd() async {
        let (end, continuation) = AsyncStream<Never>.makeStream()
        await withGracefulShutdownHandler {
            for await _ in end {}
        } onGracefulShutdown: {
            continuation.finish()
        }
    }
}
