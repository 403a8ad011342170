#if Fleet
import ArgumentParser
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc

/// `defaults fleet leave`.
struct Leave: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "End this machine's membership in the fleet.",
        discussion: """
            Sends what hasn't been sent, and forgets the fleet's key and all that this machine knows of the fleet. \
            Preferences stay as they are, here and on the other machines, and so do this machine's files in the \
            folder, since the others may not have read them yet; if there are no others, they are removed. With \
            --force, nothing is sent, so that it also works without the folder or an agent.

            A machine that was lost keeps the fleet's key. To exclude it, leave the fleet on all others, and begin a \
            new one in another folder.

            EXAMPLES
              defaults fleet leave
              defaults fleet leave --force
            """)

    @Flag(help: "Send nothing; forget everything, whatever state it is in.") var force = false

    func run() throws {
        let home = try FleetHome(environment: .current)
        guard force || access("\(home.path)/member", F_OK) == 0 else { throw Member.notInFleet }
        let hasService = FleetService.isInstalled
        let wasRunning = hasService && FleetService.stop()
        do { try Member.withLock(home) { try leave(home) } } catch {
            // It is still in the fleet.
            if wasRunning { _ = FleetService.start() }
            throw error
        }
        // The lock's file is gone now.
        rmdir(home.path)
        if hasService { FleetService.disable() }
        print("This machine has left the fleet. Its preferences stay as they are.")
    }

    private func leave(_ home: FleetHome) throws {
        guard !force, let membership = try home.membership() else { return try home.removeAll() }
        let folder = membership.place.transport(of: membership.machine)
        var connector: Connector?
        if try home.read()?.hasJoined == true {
            let scopes = ManifestScopes()
            let member = try Member()
            let leaving = try member.connector(of: try Member.client(), scope: scopes.scope)
            try leaving.finish()
            guard try leaving.settle() else {
                let away = leaving.problems.values.first { if case .away = $0 { true } else { false } }
                throw Failure(
                    away?.report(of: leaving.name).message ?? "Preferences are changing right now. Try again.",
                    .temporaryFailure)
            }
            try leaving.announce(MachineName(name: membership.name, hasLeft: true).propertyList)
            connector = leaving
        }
        try folder.remove(FolderTransport.requestName)
        // One that was approved here may not have sent anything yet.
        let hasOthers = try MachineName.all(try Member.backend()).contains { machine, name in
            machine != membership.machine && !name.hasLeft
        }
        let hasAnswered = try folder.names(of: membership.machine).contains {
            FolderTransport.machine(answeredBy: $0) != nil
        }
        // No other machine needs the files of a fleet of one machine; in another fleet, they would be in the way.
        if let connector, connector.state.times.isEmpty, !hasAnswered, !hasOthers { try folder.removeAll() }
        try home.removeAll()
        // Another fleet has another list. While this was a member, removing it would have removed it for all machines.
        // If this fails, the next join does it.
        try? connector?.forgetList()
    }
}
#endif
