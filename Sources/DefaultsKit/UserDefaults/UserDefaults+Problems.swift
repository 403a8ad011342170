extension UserDefaults {
    /// Names who is told of problems behind calls that can't throw, instead of standard error.
    ///
    /// The handler is called with no lock held, and may read and write defaults: on the thread of the call that was refused,
    /// or soon after on one of the library's own, for what went wrong behind the calls. `nil` is standard error again.
    public static func onProblem(_ handler: (@Sendable (DefaultsProblem) -> Void)?) {
        ProblemHandler.set(handler)
    }

    /// Tells of a problem behind a call of a library above this one, on the caller's thread.
    package static func report(_ problem: DefaultsProblem) { ProblemHandler.report(problem) }
}
