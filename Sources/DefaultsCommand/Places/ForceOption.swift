import ArgumentParser
import DefaultsCore
import DefaultsKit

/// The option that has a file replaced which may never have been meant for preferences.
struct ForceOption: ParsableArguments {
    @Flag(
        name: .customLong("force"),
        help: "Replace a linked file, or one named by its path, that isn't a property list; a copy is kept.")
    var isForced = false
}

extension PlaceChoice {
    /// Replaces a domain's file that isn't a property list by an empty one, after copying it, and waits until the agent
    /// knows.
    func replaceDamage(of argument: String) throws {
        let place = try find(argument)
        let path = try directory(of: place).path(of: place.domain)
        guard let copy = try DomainFile(path: path).replaceDamage() else { return }
        Failure.note("\(path) was not a property list. Its contents were saved to \(copy).")
        try open(place).backend.synchronize(place.domain)
    }
}
