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
        let names = manifests.map { $0.deletingPathExtension().lastPathComponent }
        return zip(manifests, names).map { manifest, name in
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).swift")
            return .buildCommand(
                displayName: "Making the keys of \(name)", executable: tool,
                arguments: [manifest.path(percentEncoded: false), output.path(percentEncoded: false)]
                    + names.filter { $0 != name },
                inputFiles: [manifest], outputFiles: [output])
        }
    }
}
