#if Fleet
import FleetCommand
#if FleetEtcd
import FleetEtcd
#endif

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
import Linux

/// `defaults-fleet` without the trait `Fleet`.
@main
struct DefaultsFleet {
    static func main() { MissingTrait.end("defaults-fleet", without: "Fleet") }
}
#endif
