import PackagePlugin

/// The build plugin that makes typed keys from the manifests of a target.
///
/// Each property list below `Manifests` in the target's folder becomes a source file of the target.
@main
struct MakeDefaultsKeys: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        guard let target = target as? SourceModuleTarget else { return [] }
        let tool = try context.tool(named: "make-defaults-keys").url
        let manifests = target.sourceFiles.map(\.url).filter {
            $0.pathExtension == "plist" && $0.deletingLastPathComponent().lastPathComponent == "Manifests"
        }
        return manifests.map { manifest in
            let name = manifest.deletingPathExtension().lastPathComponent
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).swift")
            return .buildCommand(
                displayName: "Making the keys of \(name)", executable: tool,
                arguments: [manifest.path(), output.path()],
                inputFiles: [manifest], outputFiles: [output])
        }
    }
}
