#if Fleet
import ArgumentParser
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
        let requests = try folder.machines().filter { names[$0] == nil }.compactMap { member.request(of: $0) }
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
        // It waits for what is still in the folder.
        let numbers = state.numbers.filter { ((try? folder.files(of: $0.key)) ?? []).isEmpty == false }
        try folder.add(
            FolderTransport.answerName(for: request.machine),
            try request.answer(FleetGrant(member.secret, numbers: numbers), to: code))
        print("Approved \(request.name.printable). It continues once the folder has synced there.")
    }
}
#endif
