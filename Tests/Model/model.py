"""The values that domains must have, by the page "What you can rely on"."""

import collections
import plistlib


def is_same(one, other):
    """Whether two values are equal and of the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


def changed(values, changes):
    """Returns the values after some changes, in which none stands for a removal."""
    result = {key: value for key, value in values.items() if key not in changes}
    result.update((key, value) for key, value in changes.items() if value is not None)
    return result


def serialized(values, loaded):
    """Returns the bytes of a file with some values, in the format of the bytes that a program has loaded."""
    is_binary = loaded is not None and loaded.startswith(b"bplist")
    return plistlib.dumps(values, fmt=plistlib.FMT_BINARY if is_binary else plistlib.FMT_XML)


def differences(found, wanted):
    """Returns the keys whose values differ."""
    return sorted(key for key in {*found, *wanted} if not is_same(found.get(key), wanted.get(key)))


def brief(value):
    """A short text for a value."""
    text = "(none)" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:24]}…{text[-8:]}"


class Expectation:
    """The values that a domain may have: one possibility, or several where the promises leave an outcome open."""

    def __init__(self):
        self.possibilities = [{}]

    @property
    def values(self):
        """The values, if they are known for sure."""
        if len(self.possibilities) > 1:
            raise AssertionError("Check the values first.")
        return self.possibilities[0]

    def set(self, values):
        self.possibilities = [dict(values)]

    def change(self, changes):
        self._allow(changed(one, changes) for one in self.possibilities)

    def change_or_not(self, changes):
        """Allows some changes, all of them or none."""
        self._allow([*self.possibilities, *(changed(one, changes) for one in self.possibilities)])

    def allow(self, values):
        self._allow([*self.possibilities, values])

    def settle(self, found):
        """Whether the domain may have the found values. If so, it has no others from now on."""
        if not any(is_same(found, one) for one in self.possibilities):
            return False
        self.possibilities = [found]
        return True

    def _allow(self, possibilities):
        distinct = []
        for one in possibilities:
            if not any(is_same(one, other) for other in distinct):
                distinct.append(one)
        self.possibilities = distinct


class Mark:
    """A cursor with the values that the domains had there."""

    def __init__(self, cursor, values):
        self.cursor = cursor
        self.values = values
        # By domain, the keys that were changed later while no agent was running. Of these, the history knows only the
        # result.
        self.unseen = collections.defaultdict(set)


class Copy:
    """The bytes of a domain's file, with the values that the domain had then."""

    def __init__(self, domain, data, values, description, writes):
        self.domain = domain
        # The number of writes by other programs until then: one that only sets back its own changes restores nothing.
        self.writes = writes
        self.data = data
        self.values = values
        self.description = description
        # Whether the log can know the version: the keys of a version before a change that no agent saw are uncertain.
        self.is_known = True


class Character:
    """The settings of a trial, chosen at random."""

    def __init__(self, chance):
        self.log, log = chance.choice([
            ("long log", {}), ("long log", {}), ("long log", {}), ("LogBytes 1024", {"LogBytes": 1024}),
            ("LogBytes 2000", {"LogBytes": 2000}), ("LogBytes 20000", {"LogBytes": 20000}),
            ("LogRecords 20", {"LogRecords": 20}), ("LogRecords 200", {"LogRecords": 200})])
        self.history, history = chance.choice([
            ("whole history", {}), ("whole history", {}),
            ("thinned history", {"HistoryChanges": 2, "HistoryDays": 0, "HistoryBytes": 20000})])
        # When and how the secret key is excluded from the history.
        self.exclusion = chance.choice(["never", "never", "from the beginning", "by the setting", "by a manifest"])
        # An edit that is still pending when its key is excluded needs a delay.
        delay = chance.choice([100, 500] if self.exclusion.startswith("by") else [None, None, 0, 100, 500])
        self.settings = {**log, **history}
        if delay is not None:
            self.settings["SaveDelay"] = delay
        self.delay = 0.01 if delay is None else delay / 1000
        self.has_long_log = not log
        self.has_whole_history = not history

    def __str__(self):
        return f"{self.log}, {self.history}, SaveDelay {self.delay * 1000:.0f}, excluded {self.exclusion}"
