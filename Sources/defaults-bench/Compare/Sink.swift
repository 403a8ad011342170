/// Where results go, so that what makes them is not left out by the compiler.
enum Sink {
    @inline(never) @_optimize(none)
    static func take(_ value: Int) {}
}
