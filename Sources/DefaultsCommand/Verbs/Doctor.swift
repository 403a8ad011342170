import ArgumentParser
import DefaultsCore

/// `defaults doctor`.
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find what keeps changes from taking effect at once.",
        discussion: """
            Examines the agent, the directory and its file system, the files, the programs in the PATH, and the \
            system's limits, and prints each finding with its remedy. Something that fails is a problem; something \
            that may fail is a warning; a note needs no attention. The command changes nothing. It tests the file \
            system with two hidden files, which it removes, and like any client, it makes a service manager start the \
            agent.

            --json prints one object. Its "findings" is a list of objects with "id", "severity" ("problem", "warning" \
            or "note"), "message", "remedy" and, for a file or directory, "path". The other members are "agent" (null \
            if none answers), "otherAgents", "agentProgram", "command", "directory" and "socket" (each with its "path" \
            and "source"), "fileSystem" and "inotify".

            To find the program that writes a file, see `defaults help log`.

            The exit status is 1 if there is a problem or a warning.

            EXAMPLES
              defaults doctor
              defaults doctor --json | jq -r '.findings[].id'
              defaults doctor >/dev/null || echo 'something needs attention'
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var style: ColorOption

    func run() throws {
        let examination = Examination(
            directory: location.directory, socket: location.socket, environment: .current)
        let style = style.text
        try StandardOutput.write(json ? examination.json + "\n" : examination.text(style))
        if examination.findings.needAttention { throw ExitCode(1) }
    }
}
