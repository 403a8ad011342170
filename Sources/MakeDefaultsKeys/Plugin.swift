import PackagePlugin

/// The build plugin that makes typed keys from the manifests of a target.
///
/// Each property list below `Manifests` in the target's folder becomes a source file of the target.
@main
struct MakeDefaultsKeys: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        guard let target = target as? SourceModuleTarget else { return [] }
        let tool = try context.tool(named: "make-defaults-keys").url
        let folder = target.directoryURL.pathComponents.count
        let manifests = target.sourceFiles.map(\.url).filter {
            $0.pathExtension == "plist" && $0.pathComponents.dropFirst(folder).dropLast().contains("Manifests")
        }
        return manifests.map { manifest in
            let place = manifest.deletingPathExtension().pathComponents.dropFirst(folder)
            // No two files of a module may have the same name, whatever their folders.
            let name = place.map { $0.replacing("_", with: "__") }.joined(separator: "_.")
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).swift")
            let others = manifests.filter { $0 != manifest }
            return .buildCommand(
                displayName: "Making the keys of \(place.last ?? "")", executable: tool,
                arguments: [manifest.path(percentEncoded: false), output.path(percentEncoded: false)]
                    + others.map { $0.path(percentEncoded: false) },
                inputFiles: [manifest] + others, outputFiles: [output])
        }
    }
}
