import Glibc

/// The end of a program that was built without the trait that it needs.
package enum MissingTrait {
    /// Says so on standard error, and ends the program as unavailable (`EX_UNAVAILABLE`).
    package static func end(_ program: String, without trait: String) -> Never {
        let text = Array("\(program): This program was built without the trait \(trait).\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        exit(69)
    }
}
