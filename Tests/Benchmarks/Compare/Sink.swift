/// A consumer of results, which keeps the compiler from removing the code that computes them.
enum Sink {
    @inline(never) @_optimize(none)
    static func take(_ value: Int) {}
}
