#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore

extension UserDefaults {
    /// The instance that the calling task has in place of the program's own preferences.
    @TaskLocal static var redirected: UserDefaults?

    /// Runs a body in which `standard`, and properties that are stored in it, are other preferences.
    ///
    /// ```swift
    /// @Test func bigText() {
    ///     UserDefaults.withStandard(UserDefaults(inMemory: ["fontSize": 72])) {
    ///         #expect(Editor().lineHeight == 90)
    ///     }
    /// }
    /// ```
    ///
    /// This holds for the calling task and the tasks that it starts, except detached ones. So tests that run at the
    /// same time don't see each other's preferences. Keys with a domain are read and set in that domain of `defaults`.
    ///
    /// - Parameters:
    ///   - defaults: The preferences to use.
    ///   - handler: A handler for the problems of calls in the body, in place of that of `setProblemHandler(_:)`; `nil`
    ///     to leave the handler as it is. Problems in the background don't belong to a task, and go to the program's.
    ///   - body: The closure to run.
    /// - Returns: The body's result.
    /// - Throws: The body's error.
    public static func withStandard<Outcome>(
        _ defaults: UserDefaults, reportingTo handler: (@Sendable (DefaultsProblem) -> Void)? = nil,
        _ body: () throws -> Outcome
    ) rethrows -> Outcome {
        try ProblemHandler.$scoped.withValue(scoped(handler)) { try $redirected.withValue(defaults, operation: body) }
    }

    /// Does the same as the other form, with a body that may suspend.
    public static func withStandard<Outcome>(
        _ defaults: UserDefaults, reportingTo handler: (@Sendable (DefaultsProblem) -> Void)? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Outcome
    ) async rethrows -> Outcome {
        try await ProblemHandler.$scoped.withValue(
            scoped(handler),
            operation: { try await $redirected.withValue(defaults, operation: body, isolation: isolation) },
            isolation: isolation)
    }

    private static func scoped(_ handler: (@Sendable (DefaultsProblem) -> Void)?) -> (@Sendable (Problem) -> Void)? {
        guard let handler else { return ProblemHandler.scoped }
        return { problem in handler(DefaultsProblem(problem)) }
    }

    /// Makes a call that blocks on the client's thread for these, where the task's preferences and its handler of
    /// problems hold.
    func suspending<Outcome: Sendable>(_ call: @escaping @Sendable () throws -> Outcome) async throws -> Outcome {
        let redirected = Self.redirected
        do {
            return try await client.calls.make { try Self.$redirected.withValue(redirected, operation: call) }
        } catch let error as DefaultsError {
            throw DefaultsProblem(.edit, because: error)
        }
    }
}
#endif
