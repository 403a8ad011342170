#if Fleet
import FleetCommand

/// `defaults-fleet`, which `defaults fleet` runs.
@main
struct DefaultsFleet {
    static func main() {
        #if FleetEtcd
        FleetCommand.main(with: Etcd())
        #else
        FleetCommand.main(with: nil)
        #endif
    }
}
#else
import Glibc

/// `defaults-fleet` without the trait `Fleet`.
@main
struct DefaultsFleet {
    static func main() {
        let text = Array("defaults-fleet: This program was built without the trait Fleet.\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        exit(69)
    }
}
#endif
