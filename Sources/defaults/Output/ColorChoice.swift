import ArgumentParser
import DefaultsCore
import Glibc

/// Whether output is coloured.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never

    /// The option first, then `NO_COLOR` (https://no-color.org) and `CLICOLOR_FORCE`, then whether a terminal reads it.
    func isColored(_ environment: Environment = .current) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            if environment["NO_COLOR"] != nil { return false }
            if let force = environment["CLICOLOR_FORCE"], force != "0" { return true }
            return isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        }
    }
}
