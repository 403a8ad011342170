#if Fleet
import ArgumentParser
import DefaultsCommand
import DefaultsCore
import DirectoryWatcher
import Fleet
import Glibc
import Linux

/// `defaults fleet run`.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Keep this machine's preferences and the fleet's the same, until it is stopped.",
        discussion: """
            The service defaults-fleet runs this. It may be stopped at any moment, with Ctrl-C or a signal: what it \
            hasn't finished, it does the next time. Problems are written to standard error, each once.

            EXAMPLES
              defaults fleet run
              systemctl --user status defaults-fleet
            """)

    func run() throws {
        let member = try Member()
        _ = try member.state()
        try Member.withLock(member.home) { try follow(member.home) }
    }

    private func follow(_ home: FleetHome) throws {
        var reporter = try Reporter(home)
        let delays = RetryDelay(first: .milliseconds(250), limit: .seconds(30))
        var failures = 0
        while true {
            do {
                // A renewal may have been interrupted.
                let follower = try Follower(try Member())
                try follower.follow(reporter: &reporter) { failures = 0 }
            } catch FleetFailure.isCopied {
                do throws(DefaultsError) {
                    let machine = try home.renew()
                    Failure.report(
                        "This machine's state was restored from a backup, or copied to another machine. It goes on as "
                            + "\(machine), with all that the folder and other machines have.")
                } catch { reporter.add("start", "\(error)", endsByItself: false) }
            } catch let error as DefaultsError {
                // An agent that is replaced by a new version is back at once.
                reporter.add("start", "\(error)", endsByItself: error.code == .agentUnavailable)
            } catch let failure as FleetFailure {
                reporter.add("start", failure.message, endsByItself: false)
            } catch let failure as Failure {
                reporter.add("start", failure.message, endsByItself: true)
            } catch { reporter.add("start", "\(error)", endsByItself: false) }
            Backoff.pause(delays.after(failures))
            failures += 1
        }
    }
}

/// The loop that does the connector's steps when the agent or the folder has something new.
private final class Follower {
    private let client: AgentClient
    private let connector: Connector
    private let scopes: Scopes
    private let member: Member
    private var folder: FolderTransport { member.folder }
    private var machine: MachineID { member.membership.machine }
    private var name: String { member.membership.name }
    private var watcher: DirectoryWatcher?
    private var watched: [MachineID] = []

    /// The scopes, which the connector asks for.
    private final class Scopes { var current = ManifestScopes() }

    /// The time between receptions without a report, in milliseconds.
    private static let interval: Int64 = 30_000
    /// The number of machines whose folders are watched; those of others are read at the interval.
    private static let maximumWatched = 200

    init(_ member: Member) throws {
        client = try Member.client()
        let scopes = Scopes()
        connector = try member.connector(of: client) { scopes.current.scope(of: $0) }
        (self.scopes, self.member) = (scopes, member)
    }

    /// Follows until the connector must be replaced.
    ///
    /// - Parameters:
    ///   - reporter: The receiver of problems.
    ///   - succeed: A function that is called after each step.
    /// - Throws: What ended the connector.
    func follow(reporter: inout Reporter, _ succeed: () -> Void) throws {
        // Joining or leaving may have been interrupted.
        try announce()
        let delays = RetryDelay(first: .seconds(1), limit: .seconds(5))
        var failures = 0
        var nextReception = MonotonicTime.now()
        var receives = true
        while true {
            var problems = connector.problems.mapValues { $0.report(of: connector.name) }
            do {
                if nextReception <= .now() {
                    receives = true
                    nextReception = .now() + Self.interval
                    if let former = scopes.current.refresh() { try connector.scopesHaveChanged(from: former.scope) }
                }
                if receives {
                    try watch(folder)
                    // Others may have put anything where a request was.
                    try? JoinRequest.removeAnswers(of: machine, from: folder)
                    if try connector.isAnnounced { try announce() }
                    try markFormerIdentifiers()
                }
                while try connector.step(receiving: receives) { receives = false }
                problems = connector.problems.mapValues { $0.report(of: connector.name) }
                failures = 0
                succeed()
            } catch let failure as FleetFailure {
                switch failure {
                // The next connector finds out whether the file is there.
                case .isCopied, .notWritten: throw failure
                case .noOwnFiles, .notOwnFolder, .system: break
                }
                // The disk with the folder may come back.
                problems["folder"] = (failure.message, false)
                reporter.update(problems)
                Backoff.pause(delays.after(failures))
                failures += 1
                (receives, watcher) = (true, nil)
                continue
            }
            reporter.update(problems)
            receives = try wait(until: nextReception)
        }
    }

    /// Sets this machine's entry in the list of machines, also after an approval, or a copy of its state, has replaced
    /// it.
    private func announce() throws { try connector.announce(MachineName(name: name).propertyList) }

    /// Marks former identifiers in the list of machines as ones that are no longer used.
    ///
    /// If another machine uses one nevertheless, since its state was copied, that one announces itself again.
    private func markFormerIdentifiers() throws {
        if connector.state.replica.former.isEmpty { return }
        let names = MachineName.all(try client.snapshot(of: TravelRules.machines).values)
        for former in try member.unusedIdentifiers(connector.state, names: names)
        where names[former]?.hasLeft == false {
            try connector.announce(MachineName(name: name, hasLeft: true).propertyList, as: former)
        }
    }

    /// Watches the folders of the other machines.
    private func watch(_ folder: FolderTransport) throws {
        let others = try folder.machines().filter { $0 != machine }
        // Anybody who may write there may make many folders; those that are known come first.
        let known = others.filter { connector.state.files.received[$0] != nil }
        let found = Array((known + others.filter { !known.contains($0) }).prefix(Self.maximumWatched))
        if watcher != nil, found == watched { return }
        // There can be only one.
        watcher = nil
        watcher = try? DirectoryWatcher(
            .init(
                directory: folder.path, subdirectories: found.map(\.text),
                identityCheckInterval: .seconds(30)))
        _ = watcher?.read()
        watched = found
    }

    /// Waits until the agent or the folder has something new; returns whether the folder may have.
    ///
    /// - Throws: `agentUnavailable` if the agent has ended.
    private func wait(until end: MonotonicTime) throws(DefaultsError) -> Bool {
        let check = watcher.map { MonotonicTime.now() + $0.timeUntilNextRead + 1 } ?? .distantFuture
        var polls = client.awaited + [pollfd(fd: watcher?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]
        poll(&polls, nfds_t(polls.count), min(check, end).millisecondsLeft)
        // Nobody has asked for anything on the connection for requests.
        if polls[1].revents != 0 {
            throw DefaultsError(.agentUnavailable, "The agent has closed the connection.")
        }
        return watcher.map { !$0.read().isEmpty } ?? false
    }
}
#endif
