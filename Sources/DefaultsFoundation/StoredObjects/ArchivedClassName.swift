import Foundation

/// What a class is called in an archive, in every run of the program.
///
/// That is `NSStringFromClass`'s name where there is one; it ends the process for a class that is nested, private, local or
/// generic. Such a class is found among those that are asked for.
struct ArchivedClassName: Hashable, CustomStringConvertible {
    /// The name: "Module.Color", "Module.Outer.Color", "NSArray".
    let description: String

    init(_ type: AnyClass) {
        let name = String(reflecting: type)
        let isTopLevel = name.count(where: { $0 == "." }) == 1 && !name.contains("<")
        // A private class's name has an address in it, which is another in each run.
        description =
            isTopLevel ? NSStringFromClass(type) : name.replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }

    init(_ name: String) { description = name }

    /// The class of this name that `NSClassFromString` finds.
    var topLevelClass: AnyClass? {
        // Of a module, or of Foundation. Other characters may lead the runtime astray, which takes some for instructions.
        guard description.utf8.count < 512, description.count(where: { $0 == "." }) < 2,
            description.unicodeScalars.allSatisfy({ $0 == "." || $0 == "_" || $0.isLetterOrDigit })
        else { return nil }
        return NSClassFromString(description)
    }
}

extension Unicode.Scalar {
    fileprivate var isLetterOrDigit: Bool { properties.isAlphabetic || properties.numericType != nil }
}
