import Foundation
import ProgramSupport
import TestSupport
import Testing

extension ManualPage {
    /// Returns the page of `defaults`.
    static func ofCommand() throws -> ManualPage {
        ManualPage(
            command: try CommandDescription(of: Programs.defaults), section: 1,
            middle: environment(socketOfCommand, variablesOfCommand) + files + paths + statuses,
            end: seeAlso("defaults-tail 1", "defaults 5", "defaultsd 8"))
    }

    /// Returns the page of `defaults tail`.
    static func ofTail() throws -> ManualPage {
        let tail = try CommandDescription(of: Programs.defaults).verbs.first { $0.commandName == "tail" }
        return ManualPage(
            command: try #require(tail), program: "defaults", section: 1,
            middle: events + variablesOfChange + signals + service,
            end: seeAlso("defaults 1", "defaults 5", "defaultsd 8"))
    }

    /// Returns the page of `defaultsd`.
    static func ofAgent() throws -> ManualPage {
        ManualPage(
            command: try CommandDescription(of: Programs.defaultsd), section: 8,
            middle: try settings() + environment(socketOfAgent, variablesOfAgent) + files
                + """
                .Sh EXIT STATUS
                .Bl -tag -width Ds
                .It 0
                The agent was stopped by
                .Dv SIGTERM
                or
                .Dv SIGINT .
                .It 64
                Usage error: an unknown option or an invalid value.
                .It 69
                The directory or the socket can't be used.
                .It 75
                Another agent already serves the directory or the socket.
                .El

                """,
            examples: [
                "defaultsd", "defaultsd --directory /tmp/preferences --log-level debug",
            ],
            end: seeAlso("defaults 1", "defaults-tail 1", "defaults 5"))
    }

    /// The agent's settings, from the comments in the file that documents them.
    private static func settings() throws -> String {
        let text = try Repository.text("Config/org.defaultsd.agent.plist")
        // The setting Directory has no default, so its key is in its comment.
        let entries = text.matches(
            of: #/(?s)<!--((?:(?!-->|<key>).)*)(?:-->\s*)?<key>(\w+)</key>\s*<(?:array/|\w+>([^<]*))/#)
        try #require(entries.count == text.matches(of: /<key>/).count)
        let items = entries.flatMap { entry in
            let comment = entry.output.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let value = entry.output.3 ?? "none"
            return [".It Li \(entry.output.2)"] + prose([comment])
                + (entry.output.2 == "Directory" ? [] : ["The default is", ".Li \(value) ."])
        }
        return """
            .Sh SETTINGS
            The settings are keys of the domain
            .Li org.defaultsd.agent .
            The file
            .Pa org.defaultsd.agent.plist ,
            which is installed with the documentation, has them all, each with its default.
            .Bl -tag -width Ds
            \(items.joined(separator: "\n"))
            .El

            """
    }

    // MARK: defaults and defaultsd

    private static func environment(_ socket: String, _ own: String) -> String {
        """
        .Sh ENVIRONMENT
        .Bl -tag -width Ds
        .It Ev DEFAULTS_DIRECTORY
        The preferences directory, instead of
        .Ev XDG_CONFIG_HOME
        or
        .Pa ~/.config .
        It must exist, whereas
        .Pa ~/.config
        is created if needed.
        .It Ev DEFAULTSD_SOCKET
        \(socket)
        .It Ev DEFAULTS_SYSTEM_DIRECTORIES
        The directories with domains for all users, separated by colons, instead of those in
        .Ev XDG_CONFIG_DIRS
        .Pq Pa /etc/xdg
        and
        .Pa /usr/local/etc .
        An empty value counts as unset.
        A path that isn't absolute, such as
        .Li none ,
        is ignored.
        .It Ev DEFAULTS_MANAGED_DIRECTORY
        The directory with domains that are forced on all users, instead of
        .Pa /etc/defaultsd/managed .
        \(own)
        .El

        """
    }

    private static let socketOfCommand = """
        The agent's socket.
        If it is set and no agent answers there, that is an error.
        """

    private static let socketOfAgent = "The path of the agent's socket, instead of the default path."

    private static let variablesOfCommand = """
        .It Ev DEFAULTS_NO_AGENT
        If set, the command works on the files directly, even if an agent is running.
        It then doesn't see edits that the agent has not saved yet.
        .It Ev DEFAULTS_ORIGIN
        The name that the history gives the caller of a command; if empty, none.
        By default, the calling script, program or service.
        .It Ev VISUAL , EDITOR
        The editor for
        .Cm edit ,
        a shell command.
        A value that is empty or has only blanks counts as unset.
        .It Ev NO_COLOR , CLICOLOR_FORCE , FORCE_COLOR
        If the first is set, output has no colors.
        If one of the others is set to a value other than 0, output has colors even if it isn't a terminal.
        .Fl -color
        overrides them.
        .It Ev TMPDIR
        The directory for the temporary file of
        .Cm edit .
        """

    private static let variablesOfAgent = """
        .It Ev LISTEN_FDS , LISTEN_PID
        Set by a service manager that has opened the agent's socket as descriptor 3; see
        .Xr sd_listen_fds 3 .
        Such a socket and its file stay when the agent ends.
        .It Ev NOTIFY_SOCKET
        The socket on which systemd is notified that the agent is ready.
        """

    private static let files = """
        .Sh FILES
        .Bl -tag -width Ds
        .It Pa ~/.config/<domain>.plist
        A domain: a property list in XML, binary or old-style text.
        .It Pa ~/.config/.GlobalPreferences.plist
        The global domain.
        .It Pa ~/.config/ByHost/<domain>.<host>.plist
        A domain for one host.
        The host's identifier is its machine-id, written as an uppercase UUID.
        .It Pa $XDG_RUNTIME_DIR/defaultsd/socket
        The agent's socket.
        Without the variable, the directory is
        .Pa /run/user/<uid>
        or, if that doesn't exist,
        .Pa /tmp/defaultsd-<uid> .
        .It Pa $XDG_STATE_HOME/defaultsd/<hash>.log
        The change log: the last changes, up to
        .Li LogRecords
        and
        .Li LogBytes .
        Once the file exceeds twice these bytes, the oldest changes move to the archive.
        For a directory that isn't the default one, the file is beside the socket.
        .It Pa $XDG_STATE_HOME/defaultsd/<hash>.archive
        The archive of older changes.
        .Li HistoryDays , HistoryChanges
        and
        .Li HistoryBytes
        apply only to this file;
        .Li HistoryExcludes
        applies to both.
        These are settings of the agent.
        .It Pa ~/.config/.defaultsd.agent , $XDG_RUNTIME_DIR/defaultsd/socket.lock
        The agent's claims on the directory and on the socket.
        The agent locks these files
        .Pq Xr flock 2
        while it runs; they name its process, host and socket.
        If another agent holds a lock, a new agent exits with status 75, unless the other one was started by
        .Ic defaults tail ;
        then the new agent takes over.
        .El

        """

    private static let paths = """
        .Pp
        The files that
        .Cm convert , diff , export
        and
        .Cm import
        read and write may have names that are not UTF-8; messages show such a byte as
        .Li \\exe9 .
        The name of a domain, or the path of its file, must be UTF-8.
        If such a path contains
        .Pa ..
        and leads out of the preferences directory, an edit reports the file on standard error.
        .Pp
        Text that isn't a path always names a domain.
        If it can't be a file name, it is escaped:
        .Li a/b
        is the domain
        .Li a%2Fb ,
        like the suite of that name in a program.
        A relative path must begin with
        .Pa ./ .

        """

    private static let statuses = """
        .Sh EXIT STATUS
        .Bl -tag -width Ds
        .It 0
        Success.
        For
        .Cm diff :
        both operands are the same.
        .It 1
        The domain or key does not exist.
        For
        .Cm diff :
        the operands differ.
        For
        .Cm doctor :
        there is a problem or a warning.
        .It 64
        Usage error: an unknown verb or option, or an invalid domain name.
        .It 65
        A domain's file, a value or an input can't be parsed.
        .It 66
        An input file does not exist or can't be opened.
        .It 69
        The agent is required but not available, or the editor failed.
        If the agent ended before it answered an edit, the edit may have been made.
        .It 71
        The arguments can't be read, because
        .Pa /proc
        is not mounted.
        .It 73
        An output file can't be created.
        .It 74
        A directory or file can't be read or written; edits are not saved.
        .It 75
        A temporary failure: the agent is stopped or busy, or serves another directory, or another program holds a lock.
        Try again later.
        .It 129 , 130 , 143
        A signal ended the command.
        .El

        """

    // MARK: defaults tail

    private static let events = """
        .Sh JSON
        With
        .Fl -json ,
        each line is an object.
        Its
        .Li type
        is one of:
        .Bl -tag -width Ds
        .It Li ready
        The stream has begun.
        .Li pid
        is the agent's process,
        .Li directory
        the directory that it serves.
        .It Li change
        A change set, or with
        .Fl -initial
        and after a
        .Li gap
        the current values of a domain.
        .It Li damaged
        A file can't be read or parsed;
        .Li reason
        says why.
        .It Li unsaved
        Edits can't be saved yet;
        .Li reason
        says why.
        .It Li recovered
        A domain is no longer damaged or unsaved.
        .It Li gap
        Changes are not available:
        all between the cursors
        .Li from
        and
        .Li to ,
        or those of one domain, with a
        .Li reason .
        The current values follow; what isn't among them has no value.
        .It Li bookmark
        Everything up to this cursor has been shown.
        .El
        .Pp
        The other members are:
        .Bl -tag -width Ds
        .It Li cursor
        The position in the change log from which
        .Fl -since
        continues once the line has been handled.
        Of the current values of several domains, only the last object has a position from which to continue;
        after any other, a
        .Li gap
        follows, and then all values again.
        Before the first values, it is 0000000000000000:0.
        .It Li time
        The time of the event.
        .It Li domain , host
        The domain, and its host's identifier or null for any host.
        .It Li user
        .Dq managed
        for a managed domain, or the directory of a system domain; absent for the user's own domains.
        .It Li source
        The writer: an object with
        .Li kind
        .Pq app, file or agent
        and, for an app,
        .Li pid
        and
        .Li executable .
        Null for current values.
        .It Li origin
        What the change was made for, if that is known: an object whose
        .Li program
        is the program for which the writer acted, whose
        .Li purpose
        is undo, redo, profile or reset, and whose
        .Li of
        is the cursor of the change that was undone, or the name of the profile.
        .It Li changes
        A list of objects with
        .Li key ,
        .Li kind
        .Pq added, changed, removed or initial ,
        .Li old
        and
        .Li new .
        After a cursor, in the mode
        .Cm latest ,
        .Li old
        and
        .Li new
        are equal if a key has changed back since.
        .It Li damage
        For current values: the reason why the file can't be used, if these are its last good values.
        .It Li overruled
        The values that lost: a list of objects with
        .Li key ,
        .Li value
        and
        .Li source .
        If the writer had loaded an older version of the file, the
        .Li reason
        is older-version, and
        .Li loaded
        is the time when that version was written, or null if it is unknown.
        To insist on such a value, write the file again.
        .El
        .Pp
        Data is {"$data": "<base64>"} and a date is {"$date": "<RFC 3339>"};
        a dictionary with only the key $data is {"$$data": ...}.

        """

    private static let variablesOfChange = """
        .Sh ENVIRONMENT
        The command of
        .Fl -exec
        receives the object that
        .Fl -json
        would print on its standard input, and these variables:
        .Bl -tag -width Ds
        .It Ev DEFAULTS_DOMAIN
        The domain.
        .It Ev DEFAULTS_HOST
        The host's identifier; empty for any host.
        .It Ev DEFAULTS_KEYS
        The changed keys, one per line.
        Unset if they exceed 64 KiB or if a key contains a line break.
        .It Ev DEFAULTS_VALUE
        The new value, as
        .Ic defaults read
        prints it, if one key has changed.
        Unset if several have, if the key was removed, or if the value exceeds 64 KiB or contains NUL.
        .It Ev DEFAULTS_CURSOR
        The cursor of the change set.
        .It Ev DEFAULTS_SOURCE
        The kind of writer: app, file or agent; empty for current values.
        .It Ev DEFAULTS_SOURCE_PID , DEFAULTS_SOURCE_EXECUTABLE
        The process and the executable of an app.
        .El
        .Pp
        If
        .Ev PATH
        lacks the directory of this
        .Nm defaults ,
        the command gets that directory first in its own.
        .Pp
        The variables that
        .Ic defaults tail
        itself reads are described in
        .Xr defaults 1 .

        """

    private static let signals = """
        .Sh SIGNALS
        The commands of
        .Fl -exec
        run one at a time; in the mode
        .Cm everything ,
        no change set is skipped.
        A command that fails is reported, and the next one runs.
        .Pp
        When
        .Ic defaults tail
        ends, even by
        .Dv SIGKILL ,
        the command and all processes that it started end, too, except those that left its process group.
        Ctrl-Z
        .Pq Dv SIGTSTP
        stops the command, too.
        .Dv SIGSTOP ,
        which can't be caught, stops only
        .Ic defaults tail ;
        the command continues to its end.

        """

    private static let service = """
        .Sh SERVICE
        With systemd, this unit in
        .Pa ~/.config/systemd/user/theme.service
        runs a command at each change, and also for changes that were made while it was stopped:
        .Bd -literal -offset indent
        [Service]
        StateDirectory=theme
        ExecStart=/usr/bin/defaults tail org.example.editor theme \\e
            --cursor-file %S/theme/cursor --exec 'notify-send "$$DEFAULTS_VALUE"'
        Restart=on-failure

        [Install]
        WantedBy=default.target
        .Ed
        .Pp
        Start it now and at every login with
        .Ql systemctl --user enable --now theme .
        In a unit,
        .Li $$
        stands for a dollar sign, and
        .Li %S
        for the directory of the user's state.

        """

    private static func seeAlso(_ pages: String...) -> String {
        ".Sh SEE ALSO\n" + pages.map { ".Xr \($0)" }.joined(separator: " ,\n")
    }
}
