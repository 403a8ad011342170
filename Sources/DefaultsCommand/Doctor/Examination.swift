import DefaultsClient
import DefaultsCore
import Glibc
import Linux

/// Everything that `defaults doctor` examines, and its findings.
struct Examination {
    let location: ServedLocation
    let programs: ProgramSearch
    let agent: AgentExamination?
    let others: OtherAgents
    let fileSystem: FileSystemExamination?
    let inotify: InotifyExamination
    /// The findings, the most important ones first.
    let findings: [Finding]

    /// Examines the directory and the agent that the options and the environment select.
    init(directory option: String?, socket: String?, environment: Environment) {
        let location = ServedLocation(directory: option, socket: socket, environment: environment)
        let agent = location.both.map { AgentExamination($0.directory, at: $0.address, in: environment) }
        let isAnswered = agent?.status != nil
        self.location = location
        self.agent = agent
        programs = ProgramSearch(environment)
        others = OtherAgents(besides: agent?.pids ?? [], of: location.directory)
        fileSystem = location.directory.flatMap { FileSystemExamination($0.path) }
        inotify = InotifyExamination(watching: fileSystem?.path)
        var findings = location.findings + Self.variables(for: location, in: environment)
        let units = ServiceUnits(environment)
        if let (directory, address) = location.both {
            // The units serve the usual directory on the usual socket.
            let start = location.isUsual ? units.startCommand : AgentCommand.text(directory: option, socket: socket)
            findings += agent?.findings(serving: directory, at: address, start: start) ?? []
            findings += ManifestExamination.differences(agent?.process, from: environment)
        }
        findings += programs.findings(agentRuns: isAnswered)
        findings += inotify.findings(agentWatches: agent?.status?.usesInotify == true)
        findings += units.findings(
            agentRuns: isAnswered, socketPath: location.address.flatMap { $0.isExplicit ? nil : $0.socketPath })
        let system = agent?.system ?? SystemDirectories(environment: environment)
        if let directory = location.directory {
            let agentRuns = isAnswered || AgentClaim.isHeld(of: directory)
            findings += DirectoryExamination(directory).findings(agentRuns: agentRuns)
            findings += fileSystem?.findings ?? []
            if !isAnswered { findings += DomainExamination(of: directory, under: system).findings }
            findings += Self.settings(directory)
        }
        findings +=
            location.both.map { HistoryExamination($0.directory, at: $0.address, in: environment).findings } ?? []
        findings += SystemExamination.findings(system)
        findings += PortalExamination.findings(environment)
        findings += GSettingsExamination.findings(environment)
        findings += ManifestExamination.findings(environment)
        if let directory = location.directory { findings += FleetExamination.findings(directory, in: environment) }
        // The agent reports some of the same errors.
        let known = Set(findings.map(\.message))
        let others = (agent?.status?.generalErrors ?? []).map {
            Finding(.problem, id: "agent-error", error: $0, remedy: "See the agent's log for details.")
        }
        findings +=
            others.filter { !known.contains($0.message) } + self.others.findings
        // The agent polls because the file system is shared, so one finding is enough.
        if findings.contains(where: { $0.id == "watching-by-polling" }) {
            findings.removeAll { $0.id == "file-system-shared" }
        }
        self.findings = findings.byImportance
    }

    /// Returns the problems of the environment.
    @FindingList
    private static func variables(for location: ServedLocation, in environment: Environment) -> [Finding] {
        if environment[BackendChoice.noAgentVariable] != nil {
            Finding(
                .warning, id: "agent-disabled",
                message: "\(BackendChoice.noAgentVariable) is set, so programs don't use the agent.",
                remedy: "To use the agent again, run `unset \(BackendChoice.noAgentVariable)`.")
        }
        if let address = location.address {
            RuntimeDirectory.finding(
                in: environment, socketPath: address.socketPath, isSocketNamed: address.isExplicit)
        }
    }

    private static func settings(_ directory: PreferencesDirectory) -> [Finding] {
        guard let domain = AgentSettings.domain,
            case .contents(let contents) = DomainFile(path: directory.path(of: domain)).read(known: nil)
        else { return [] }
        var problems: [AgentSettings.Problem] = []
        _ = AgentSettings(contents.values, problems: &problems)
        let path = directory.path(of: domain)
        // `ServedLocation` has already reported a directory that can't be used.
        if directory.settingsProblem != nil { problems.removeAll { $0.key == "Directory" } }
        return problems.map { problem in
            Finding(
                .warning, id: "setting-invalid", message: "\(AgentSettings.domainName): \(problem)",
                remedy: "To correct or remove it, run `defaults edit \(AgentSettings.domainName)`. `man defaultsd` "
                    + "describes the settings.", path: path)
        }
    }
}
