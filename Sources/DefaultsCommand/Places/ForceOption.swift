import ArgumentParser
import DefaultsCore
import DefaultsKit

/// The option that has a file replaced which may never have been meant for preferences.
struct ForceOption: ParsableArguments {
    @Flag(
        name: .customLong("force"),
        help: "Replace a linked or named file that is no property list, once it is copied aside.")
    var isForced = false
}

extension PlaceChoice {
    /// Replaces a domain's file that is no property list by an empty one, once it is copied aside, and waits until the agent
    /// knows.
    func replaceDamage(of argument: String) throws {
        let place = try find(argument)
        let path = try directory(of: place).path(of: place.domain)
        guard let copy = try DomainFile(path: path).replaceDamage() else { return }
        Failure.note("\(path) was no property list. What it held is in \(copy).")
        try open(place).backend.synchronize(place.domain)
    }
}
