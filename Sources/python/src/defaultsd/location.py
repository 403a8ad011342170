"""The places of preferences: the user's directory, the system's directories, and the agent's socket."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import DefaultsError, make
from .files import read_file
from .xxh64 import xxh64

GLOBAL = "NSGlobalDomain"
_GLOBAL_SPELLINGS = {GLOBAL, "Apple Global Domain", "kCFPreferencesAnyApplication", ".GlobalPreferences"}
# SwiftNIO accepts no longer path of a socket.
_LONGEST_PATH = 103


@dataclass(frozen=True)
class Holder:
    """The agent that holds a directory's lock, as the lock file names it."""

    pid: int
    host: str
    """The name of the machine, and the namespace in which the process ID is valid."""
    socket: str

    def __str__(self) -> str:
        return f"pid {self.pid}" if self._is_here() else f"pid {self.pid} on {self.host.partition(' ')[0]}"

    def stopping(self) -> str:
        """Return a sentence that says how to stop the agent."""
        return f"To stop it, run `kill {self.pid}`{'' if self._is_here() else ' where it runs'}."

    def may_run(self) -> bool:
        """Return whether the agent may still be running: its process exists, or its ID has no meaning here."""
        return not self._is_here() or os.path.exists(f"/proc/{self.pid}")

    def _is_here(self) -> bool:
        try:
            return self.host == f"{os.uname().nodename} {os.stat('/proc/self/ns/pid').st_ino}"
        except OSError:
            return self.host == os.uname().nodename


@dataclass(frozen=True)
class Location:
    """The preferences directory of a process, and the socket of its agent."""

    directory: str
    socket: str
    is_explicit: bool
    """Whether the user named the socket; then a missing agent is an error, even for reading."""
    root: str | None
    """The directory that the socket's own is in, and that exists before any agent runs; `None` if it was named."""
    uses_agent: bool
    """Whether the user hasn't asked for the files to be used directly (`DEFAULTS_NO_AGENT`)."""
    system: tuple[str, ...]
    managed: str | None
    is_named: bool = False
    """Whether the program or `DEFAULTS_DIRECTORY` named the directory."""

    @classmethod
    def find(cls, directory: str | None, environment: Mapping[str, str] = os.environ) -> Location:
        """Find the location by the rules of all programs of defaultsd."""
        given = {name: value for name, value in environment.items() if value}
        named = directory or given.get("DEFAULTS_DIRECTORY")
        usual = _usual_directory(given)
        is_named = bool(named)
        named = os.path.abspath(named) if named else _named_by_settings(usual, given)
        if named is not None and not os.path.isdir(named):
            raise make("directory", f"The preferences directory {named} can't be used", errno=2)
        own = named or usual
        socket, root = given.get("DEFAULTSD_SOCKET"), None
        is_explicit = socket is not None
        if socket is None:
            root, name = _runtime_directory(given)
            is_usual = os.path.realpath(own) == os.path.realpath(usual)
            subdirectory = "" if is_usual else f"/{xxh64(os.fsencode(os.path.realpath(own))):016x}"
            socket = f"{root}/{name}{subdirectory}/socket"
        system = given.get("DEFAULTS_SYSTEM_DIRECTORIES")
        if system is None:
            system = given.get("XDG_CONFIG_DIRS", "/etc/xdg") + ":/usr/local/etc"
        managed = given.get("DEFAULTS_MANAGED_DIRECTORY", "/etc/defaultsd/managed")
        return cls(
            directory=own,
            socket=os.path.join(os.getcwd(), socket),
            is_explicit=is_explicit,
            root=root,
            uses_agent="DEFAULTS_NO_AGENT" not in given,
            system=tuple(dict.fromkeys(path.rstrip("/") for path in system.split(":") if path.startswith("/"))),
            managed=(managed.rstrip("/") or "/") if managed.startswith("/") else None,
            is_named=is_named,
        )

    def claimed(self) -> Location | None:
        """Return the location with the socket that the directory's lock file names, if an agent holds the lock."""
        holder = self.holder()
        if holder is None or holder.socket == self.socket:
            return None
        return Location(**{**vars(self), "socket": holder.socket, "root": None})

    def holder(self) -> Holder | None:
        """Return the agent that the directory's lock file names, if an agent holds the lock."""
        if not self.is_claimed():
            return None
        try:
            with open(self._claim, "rb") as file:
                lines = file.read(4096).split(b"\n", 2)
            if len(lines) < 3 or not lines[2].endswith(b"\n"):
                return None
            holder = Holder(int(lines[0]), os.fsdecode(lines[1]), os.fsdecode(lines[2][:-1]))
        except (FileNotFoundError, ValueError):  # The agent has just ended.
            return None
        return holder if holder.may_run() else None

    def is_claimed(self) -> bool:
        """Return whether an agent holds the directory's lock, even one that can't be reached."""
        return is_locked(self._claim)

    def other_user(self) -> int | None:
        """Return the ID of the other user to whom the directory's lock file belongs."""
        try:
            user = os.lstat(self._claim).st_uid
        except OSError:
            return None
        return None if user in _owners(self._claim) else user

    @property
    def _claim(self) -> str:
        return f"{self.directory}/.defaultsd.agent"

    def may_have_agent(self) -> bool:
        """Return whether only the user or root can have put something at the socket's path, and something is there.

        Raises `DefaultsError` if the user named a socket that can't be trusted.
        """
        try:
            return self._has_socket()
        except DefaultsError:
            if self.is_explicit:
                raise
            return False

    def obstacle(self) -> DefaultsError | None:
        """Return the reason for which the socket can't be used or trusted."""
        try:
            self._has_socket()
        except DefaultsError as error:
            return error
        return None

    def _has_socket(self) -> bool:
        if len(os.fsencode(self.socket)) > _LONGEST_PATH:
            what = f"The socket's path has more than {_LONGEST_PATH} bytes: {self.socket}."
            raise make("directory", what, remedy="Choose a shorter one with DEFAULTSD_SOCKET.")
        if not os.path.lexists(self.socket):
            return False
        try:
            self._check_directories()
        except OSError as error:
            what = f"The directory of the agent's socket {self.socket} can't be opened"
            raise make("directory", what, errno=error.errno) from error
        return True

    def _check_directories(self) -> None:
        """Check each directory from the trusted one down to the socket's own, without following links."""
        path = self.root or os.path.dirname(self.socket)
        names = os.path.relpath(os.path.dirname(self.socket), path).split("/") if self.root else []
        current = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not names:
                _check_owner(current, path)
            for name in names:
                path = f"{path}/{name}"
                last, current = current, os.open(
                    name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current
                )
                os.close(last)
                _check_owner(current, path)
        finally:
            os.close(current)


def domain_name(name: str) -> str:
    """Return a domain's name, which is the same for all spellings of the global domain's.

    Raises `InvalidValueError` if no domain can have the name.
    """
    if name in _GLOBAL_SPELLINGS:
        return GLOBAL
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 1 <= size <= 200 or "/" in name or "\0" in name or name.startswith("."):
        rule = 'A name has 1 to 200 bytes of UTF-8, no "/" and no NUL, and doesn\'t begin with ".".'
        raise make("invalidDomainName", f"{name!r:.80} isn't a valid domain name.", remedy=rule)
    return name


def host_name(host: str) -> str:
    """Return a host's identifier; raise `InvalidValueError` if it can't be one."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,36}", host):
        rule = 'Use 1 to 36 letters, digits and "-", such as `defaultsd.this_host()`.'
        raise make("invalidDomainName", f"{host!r:.80} isn't a host's identifier.", remedy=rule)
    return host


def this_host() -> str | None:
    """Return this host's identifier, its machine ID as an uppercase UUID; `None` on a machine without one."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                digits = re.match(r"[0-9A-Fa-f]{32}(?!\S)", file.read(64))
        except OSError:
            continue
        if digits:
            text = digits[0].upper()
            return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return None


def file_name(domain: str, host: str | None) -> str:
    """Return the name of a domain's file, relative to its directory."""
    stem = ".GlobalPreferences" if domain == GLOBAL else domain
    return f"{stem}.plist" if host is None else f"ByHost/{stem}.{host}.plist"


def is_locked(path: str) -> bool:
    """Return whether a process holds the lock on one of the user's files."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(file).st_uid not in _owners(path):
            return False
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)


def _owners(path: str) -> set[int]:
    """Return the users who may own a file of this user's; root works in the directories of others."""
    return {os.geteuid()} | ({os.stat(os.path.dirname(path)).st_uid} if os.geteuid() == 0 else set())


def _usual_directory(environment: Mapping[str, str]) -> str:
    configured = environment.get("XDG_CONFIG_HOME", "")
    # A relative path must be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
    return configured.rstrip("/") if configured.startswith("/") else f"{_home(environment)}/.config"


def _home(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            raise make("directory", "No home directory is known.", remedy="Set HOME or DEFAULTS_DIRECTORY.") from None
    return home.rstrip("/")


def _named_by_settings(usual: str, environment: Mapping[str, str]) -> str | None:
    """Return the directory that the agent's settings name instead of the usual one, if any."""
    path = f"{usual}/org.defaultsd.agent.plist"
    try:
        value = read_file(path).get("Directory")
    except DefaultsError as error:
        if error.code == "damaged":
            with open(path, "rb") as file:
                # Dropping NULs turns UTF-16 text into ASCII.
                if b"Directory" not in file.read().replace(b"\0", b""):
                    return None
        remedy = "Repair it, or name the directory with DEFAULTS_DIRECTORY."
        raise make(error.code, f"{error.what} The file may name the preferences directory.", remedy=remedy) from error
    if isinstance(value, str) and value.startswith("/"):
        return value
    return _home(environment) + value[1:] if isinstance(value, str) and value.startswith("~/") else None


def _runtime_directory(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the trusted directory, and the path of the agent's directory in it."""
    given = environment.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/"):
        return given, "defaultsd"
    usual = f"/run/user/{os.getuid()}"
    return (usual, "defaultsd") if os.access(usual, os.W_OK) else ("/tmp", f"defaultsd-{os.getuid()}/defaultsd")


def _check_owner(directory: int, path: str) -> None:
    status = os.fstat(directory)
    remedy = "Choose another socket with DEFAULTSD_SOCKET."
    if status.st_uid not in (os.geteuid(), 0):
        what = f"The agent's directory {path} belongs to user ID {status.st_uid}, not to you."
        raise make("directory", what, remedy=remedy)
    if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise make("directory", f"Other users may write to the agent's directory {path}.", remedy=remedy)

