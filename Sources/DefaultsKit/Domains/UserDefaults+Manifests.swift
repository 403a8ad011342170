#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
import Manifests
import PropertyList

extension UserDefaults {
    /// Registers the defaults in a domain's manifest, so that reads find them if no other domain has the key.
    ///
    /// The manifest is searched in `defaultsd/manifests` in `$XDG_DATA_HOME` and in each of `$XDG_DATA_DIRS`, and read
    /// once, by this call; it waits for the disk. The values belong to the process, as with `register(defaults:)`. A
    /// manifest that can't be read is reported to the handler of `setProblemHandler(_:)`, and so is a domain without
    /// one. In either case, the app would run with other defaults than it was made for.
    ///
    /// ```swift
    /// UserDefaults.standard.register(manifestOf: "org.example.editor")
    /// ```
    ///
    /// - Parameter domain: The domain's name.
    /// - Returns: Whether the domain has a manifest.
    @discardableResult
    public func register(manifestOf domain: String) -> Bool {
        let name: DomainName
        do throws(DefaultsError) { name = try DomainName(ofFile: domain) } catch {
            Self.report(DefaultsProblem(.name, describedBy: error.description))
            return false
        }
        let directories = ManifestDirectories(environment: .current)
        let manifests = ManifestSet(in: directories, for: name, keepsTexts: false)
        for problem in manifests.problems {
            Self.report(DefaultsProblem(.file, describedBy: problem.description))
        }
        guard let entry = manifests.entry(for: name) else {
            Self.report(
                DefaultsProblem(
                    .file,
                    describedBy:
                        "\(name) has no manifest in \(directories.paths.joined(separator: ", ")), so no defaults "
                        + "were registered."))
            return false
        }
        register(stored: entry.manifest.defaults)
        return true
    }
}
#endif
