#if Fleet
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux

/// The folder in which the machines of a fleet meet.
struct FleetPlace: Hashable {
    /// The path from the root.
    let path: String

    init(path: String) { self.path = path }

    /// Finds the folder that an argument names.
    init(argument: String) throws(Failure) {
        path = Self.absolute(Environment.current.expandingTilde(argument))
        guard !argument.isEmpty, (try? FileStatus(at: path))?.isDirectory == true else {
            throw Failure(
                "\"\(argument)\" isn't a directory. Create it, or name the folder that your tool syncs.", .noInput)
        }
    }

    /// Returns a path from the root, whose links are followed each time that it is used.
    private static func absolute(_ path: String) -> String {
        if Path.isAbsolute(path) { return path }
        // The shell knows by which links its user got here.
        let named = Environment.current["PWD"].flatMap { name in
            let isHere = (try? FileStatus(at: name).isSame(as: FileStatus(at: "."))) == true
            return isHere && Path.isAbsolute(name) ? name : nil
        }
        let working = named ?? Path.resolved(".")
        return path == "." ? working : "\(working)/\(path)"
    }

    /// Returns whether both are one directory now.
    func isSame(as other: FleetPlace) -> Bool { self == other || Path.resolved(path) == Path.resolved(other.path) }

    func transport(of machine: MachineID) -> FolderTransport { FolderTransport(path, own: machine) }
}
#endif
