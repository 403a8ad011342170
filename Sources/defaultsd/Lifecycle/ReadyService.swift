import DefaultsCore
import DirectoryWatcher
import Logging
import ServiceLifecycle

/// Says that the agent is ready, and that it is ending: in a line on standard error, and to the service manager.
struct ReadyService: Service {
    let directory: PreferencesDirectory
    let address: AgentAddress
    let watcher: DirectoryWatcher
    let log: AgentLog
    let serviceManager: ServiceManager

    func run() async throws {
        log.logger.notice("ready: \(directory.path) by \(watcher.status.mode), at \(address.socketPath)")
        serviceManager.notify("READY=1\nSTATUS=Watching \(directory.path)")
        await waitForEnd()
        serviceManager.notify("STOPPING=1")
    }
}
