"""The reason why a program finds no agent, in the words of all programs of defaultsd."""

from __future__ import annotations

import os
import shlex

from .connection import OTHER_AGENT, Connection, Message, Steps
from .errors import DefaultsError, make
from .location import Location
from .xxh64 import xxh64


def no_agent(location: Location) -> Steps[DefaultsError]:
    """Return the error of a call that needs an agent."""
    if not location.uses_agent:
        what, remedy = "No agent is used, because DEFAULTS_NO_AGENT is set.", "Unset DEFAULTS_NO_AGENT."
    else:
        what, remedy = yield from _examine(location)
    return make("agentUnavailable", what, remedy=remedy)


def _examine(location: Location) -> Steps[tuple[str, str]]:
    """Return who serves the location's directory and its socket, and what to do."""
    directory = location.directory
    holder = location.holder()
    if holder is not None and location.is_explicit and holder.socket != location.socket:
        what = f"The agent of {directory} ({holder}) listens on {holder.socket}, not on {location.socket}."
        return what, "Use that socket, or unset DEFAULTSD_SOCKET."
    if holder is not None:
        what = f"An agent ({holder}) serves {directory}, but its socket {holder.socket} can't be reached from here."
        remedy = "Run the program where the agent runs, perhaps in another container or with another XDG_RUNTIME_DIR."
        return what, f"{remedy} {holder.stopping()}"
    if location.is_claimed():
        return f"The agent of {directory} is starting or ending.", "Try again."
    if (user := location.other_user()) is not None:
        what = f"The agent of {directory} belongs to user ID {user}, and serves only that user."
        return what, "Run the program as that user."
    if (obstacle := location.obstacle()) is not None:
        return obstacle.what, obstacle.remedy or "Choose another socket with DEFAULTSD_SOCKET."
    welcome = yield from _welcome(location)
    if welcome is not None:
        other = welcome["directory"]
        what = f"No agent serves {directory}: the one at {location.socket} (pid {welcome['pid']}) serves {other}."
        free = f"{os.path.dirname(location.socket)}/socket-{xxh64(os.fsencode(os.path.realpath(directory))):016x}"
        remedy = f"To use {other}, set HOME and XDG_CONFIG_HOME as for that agent."
        return what, f"{remedy} To have an agent for {directory} as well, run `defaultsd --socket {shlex.quote(free)}`."
    return f"No agent serves {directory}.", f"Start one with {_start(location)}."


def _start(location: Location) -> str:
    """Return the command that starts an agent for the location; systemd's serves only the usual one."""
    words = ["defaultsd"]
    if location.is_named:
        words += ["--directory", location.directory]
    if location.is_explicit:
        words += ["--socket", location.socket]
    command = f"`{shlex.join(words)}`"
    return command if len(words) > 1 else f"{command}, or with `systemctl --user start defaultsd.socket`"


def _welcome(location: Location) -> Steps[Message | None]:
    """Return the welcome of the agent at the location's socket, whatever directory it serves."""
    connection = None
    try:
        if not location.may_have_agent():
            return None
        connection = Connection(location.socket)
        yield from connection.greet(location, OTHER_AGENT)
        return connection.welcome
    except (OSError, DefaultsError):
        return None
    finally:
        if connection is not None:
            connection.close()
