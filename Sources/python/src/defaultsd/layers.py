"""The layers in which a key is searched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .events import Domain
from .location import GLOBAL, this_host


@dataclass(frozen=True)
class Layer:
    """A domain that has a key, with its file and the value there."""

    domain: Domain
    file: str
    value: Any
    wins: bool
    """Whether this value is the one in effect."""

    @property
    def name(self) -> str:
        """The name of the layer, as `defaults explain` prints it."""
        user, host = self.domain.user, self.domain.host
        own = "you, any host" if host is None else "you, this host"
        name = own if user is None else "managed" if user == "managed" else "system"
        return f"{name}, all apps" if self.domain.name == GLOBAL else name


def search_list(domain: str, host: str | None, system: Iterable[str], managed: str | None) -> list[Domain]:
    """Return the domains in which a program searches a key, the winning one first.

    These are the managed directory; the user's domain, for this host and for any; the global domain, likewise; and the
    system's directories. `host` replaces this host.
    """
    host, names = host or this_host(), dict.fromkeys([domain, GLOBAL])
    domains = [Domain(name, None, "managed") for name in names if managed is not None]
    for name in names:
        domains += [Domain(name, host)] if host is not None else []
        domains.append(Domain(name))
    return domains + [Domain(name, None, directory) for name in names for directory in system]
