#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet

/// `defaults fleet approve [CODE]`.
struct Approve: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Approve a machine that is asking to join.",
        discussion: """
            Seals the fleet's key to the machine that shows the code, which anyone who only has the folder can't know. \
            Without a code, lists the machines that are asking to join.

            EXAMPLES
              defaults fleet approve
              defaults fleet approve k3f9-x2ma-7qpd-0hv8
            """)

    @Argument(help: "The code that the other machine shows.") var code: [String] = []

    func run() throws {
        let member = try Member()
        let state = try member.state()
        let folder = member.folder
        let names = try MachineName.all(try Member.backend())
        // An answer may have been lost.
        let requests = try folder.machines()
            .filter { state.times[$0] == nil && names[$0].map { $0.approval != nil } ?? true }
            .compactMap { member.request(of: $0) }
        guard !code.isEmpty else {
            if requests.isEmpty { print("No machine is asking to join, as far as the folder has synced.") }
            for request in requests { print("\(request.name.printable) (\(request.machine)) is asking to join.") }
            return
        }
        guard let code = JoinCode(code.joined()) else {
            throw Failure("A code has 16 letters and digits, such as k3f9-x2ma-7qpd-0hv8.", .usage)
        }
        guard let request = requests.first(where: { $0.isProven(by: code) }) else {
            throw Failure(
                "No machine that is asking to join shows this code. If it has only just asked, wait until the folder "
                    + "has synced here.", .notFound)
        }
        // By this, the connector writes the snapshot that the other machine waits for, also if it was approved before:
        // each answer asks for one that is written afterwards.
        let name = MachineName(name: request.name, approval: Timestamp.now().milliseconds)
        let backend = try Member.backend()
        try backend.edit(
            Domain(TravelRules.machines), with: [request.machine.text: name.propertyList], replacesAll: false)
        try backend.synchronize(Domain(TravelRules.machines))
        let grant = FleetGrant(member.secret, approvedBy: member.membership.machine)
        try folder.add(FolderTransport.answerName(for: request.machine), try request.answer(grant, to: code))
        print("Approved \(request.name.printable). It continues once the folder has synced there.")
        if try !writeSnapshot(as: member) {
            print("Before that, the connector must run on this machine: `defaults fleet run`.")
        }
    }

    /// Writes a snapshot unless the connector is running, which does; returns whether one of them has.
    private func writeSnapshot(as member: Member) throws -> Bool {
        guard !member.home.isLocked else { return true }
        guard let client = try AgentClient(.current) else { return false }
        var isWritten = false
        try Member.withLock(member.home) {
            let scopes = ManifestScopes()
            let connector = try member.connector(of: client, scope: scopes.scope)
            while try connector.step(receiving: true) {}
            isWritten = !connector.state.files.needsSnapshot
        }
        return isWritten
    }
}
#endif
