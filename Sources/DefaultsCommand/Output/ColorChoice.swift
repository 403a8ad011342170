import ArgumentParser
import DefaultsCore
import Glibc

/// Whether output is coloured.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never

    /// The option first, then `NO_COLOR` (https://no-color.org), then `CLICOLOR_FORCE` (https://bixense.com/clicolors)
    /// and `FORCE_COLOR`, then whether a terminal reads it that isn't dumb.
    ///
    /// A variable that is empty counts as unset, and "0" forces nothing.
    func isColored(_ environment: Environment = .current) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            if environment["NO_COLOR"] != nil { return false }
            let forces = ["CLICOLOR_FORCE", "FORCE_COLOR"].compactMap { environment[$0] }
            if forces.contains(where: { $0 != "0" }) { return true }
            return isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        }
    }
}
