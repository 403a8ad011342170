import ProgramSupport

extension ManualPage {
    /// The page of `defaults`.
    static func ofCommand() throws -> ManualPage {
        ManualPage(
            command: try CommandDescription(of: Programs.defaults), section: 1,
            middle: environment(variablesOfCommand) + files + paths + statuses, end: seeAlso("defaultsd 8"))
    }

    /// The page of `defaultsd`.
    static func ofAgent() throws -> ManualPage {
        ManualPage(
            command: try CommandDescription(of: Programs.defaultsd), section: 8,
            middle: environment(variablesOfAgent) + files
                + """
                .Sh EXIT STATUS
                0 after
                .Dv SIGTERM
                or
                .Dv SIGINT ;
                69 when the directory or the socket can't be used;
                75 when another agent has them already.

                """,
            examples: [
                "defaultsd", "defaultsd --directory /tmp/preferences --log-level debug",
            ],
            end: seeAlso("defaults 1"))
    }

    private static func environment(_ own: String) -> String {
        """
        .Sh ENVIRONMENT
        .Bl -tag -width Ds
        .It Ev DEFAULTS_DIRECTORY
        The preferences directory, instead of
        .Ev XDG_CONFIG_HOME
        or
        .Pa ~/.config .
        It must be there, while
        .Pa ~/.config
        is made.
        .It Ev DEFAULTSD_SOCKET
        The agent's socket.
        Where none answers at one that was named, that is an error.
        .It Ev DEFAULTS_SYSTEM_DIRECTORIES
        Directories with domains for every user, separated by colons, instead of those in
        .Ev XDG_CONFIG_DIRS
        .Pq Pa /etc/xdg
        and
        .Pa /usr/local/etc .
        An empty value counts as none given; a path that isn't absolute, such as
        .Li none ,
        is no directory.
        .It Ev DEFAULTS_MANAGED_DIRECTORY
        The directory with domains that are forced on every user, instead of
        .Pa /etc/defaultsd/managed .
        \(own)
        .El

        """
    }

    private static let variablesOfCommand = """
        .It Ev DEFAULTS_NO_AGENT
        When it is set, the command works on the files alone, even where an agent runs.
        What that agent has not saved yet is not seen then.
        .It Ev VISUAL , EDITOR
        The editor of
        .Cm edit ,
        a command of the shell.
        .It Ev NO_COLOR , CLICOLOR_FORCE , FORCE_COLOR
        When the first is set, nothing is coloured; when one of the others is, and isn't 0, all is that can be.
        .Fl -color
        overrules them.
        .It Ev TMPDIR
        Where the text of
        .Cm edit
        is, in a directory of its own.
        """

    private static let variablesOfAgent = """
        .It Ev NOTIFY_SOCKET
        Where the agent tells that it is ready, as systemd wants it.
        """

    private static let files = """
        .Sh FILES
        .Bl -tag -width Ds
        .It Pa ~/.config/<domain>.plist
        A domain: a property list in XML, binary or old-style text.
        .It Pa ~/.config/.GlobalPreferences.plist
        The global domain.
        .It Pa ~/.config/ByHost/<domain>.<host>.plist
        A domain for one host; its identifier is its machine-id as an upper-case UUID.
        .It Pa $XDG_RUNTIME_DIR/defaultsd/socket
        The agent's socket.
        The log of changes is beside it.
        .It Pa ~/.config/.defaultsd.agent , $XDG_RUNTIME_DIR/defaultsd/socket.lock
        The agent's claims on the directory and on the socket: files that it locks
        .Pq Xr flock 2
        as long as it runs, and in which its process, its host and its socket are named.
        Another agent ends with status 75 where they are locked,
        and takes the place of one that
        .Ic defaults tail
        has started.
        .El

        """

    private static let paths = """
        .Pp
        The files that
        .Cm convert , diff , export
        and
        .Cm import
        read and write may have names of any bytes; messages show a byte that is not UTF-8 as
        .Li \\exe9 .
        The name of a domain, and the path of a file in its place, must be UTF-8.
        If such a path contains
        .Pa ..
        and leads out of the preferences directory, an edit names the file on standard error.
        .Pp
        Any other text names a domain, too.
        One that cannot be the name of a file is escaped:
        .Li a/b
        is the domain
        .Li a%2Fb ,
        as it is for the suite of that name in a program.
        A relative path begins with
        .Pa ./ .

        """

    private static let statuses = """
        .Sh EXIT STATUS
        .Bl -tag -width Ds
        .It 0
        It is done.
        For
        .Cm diff :
        both are the same.
        .It 1
        The domain or the key is not there.
        For
        .Cm diff :
        they differ.
        .It 64
        The command line is wrong: an unknown verb or option, a name that no domain can have.
        .It 65
        A domain's file can't be read or understood, or a value or a text can't.
        .It 66
        An input is missing or can't be opened.
        .It 69
        The agent was asked for and doesn't answer, or the editor has failed.
        If it was an edit, and the agent ended before it could answer, the edit may have been made.
        .It 71
        The arguments can't be read, since
        .Pa /proc
        is not mounted.
        .It 73
        An output can't be made.
        .It 74
        A directory or a file can't be read or written; edits are not saved.
        .It 75
        The agent is stopped or has very much to do, keeps another directory, or someone else holds the lock: try again
        later.
        .It 129 , 130 , 143
        It was ended by a signal.
        .El

        """

    private static func seeAlso(_ page: String) -> String {
        """
        .Sh SEE ALSO
        .Xr \(page)
        """
    }
}
