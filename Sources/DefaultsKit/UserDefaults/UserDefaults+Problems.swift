extension UserDefaults {
    /// Names who is told of problems behind calls that can't throw, instead of standard error.
    ///
    /// The handler is called on the thread that met the problem, one of this library's own perhaps, with no lock held; it
    /// must not wait for preferences there. `nil` is standard error again.
    public static func onProblem(_ handler: (@Sendable (DefaultsProblem) -> Void)?) {
        ProblemHandler.set(handler)
    }
}
