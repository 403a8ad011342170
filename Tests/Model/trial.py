"""One agent's life under random acts, and the checks after each of them."""

import collections
import plistlib
import random
import re
import signal
import time

from agent import SETTINGS, Client, Failure, Home, parse
from model import Character, Expectation, Mark, brief, changed, differences, is_same, serialized

DOMAINS = ("model.xml", "model.binary", "model.new")
KEYS = ("width", "height", "theme", "font", "zoom", "language", "größe", "window.title")
SECRET = "secret"
# If a program writes a key within a few milliseconds of an edit, either may count as the later one, since the kernel
# stamps files with a coarse clock.
TIE = 0.008


class Trial:
    """One agent's life under random acts. Each act says what it does, does it, and tells the model what must follow."""

    def __init__(self, seed, place):
        self.chance = random.Random(seed)
        self.character = Character(self.chance)
        self.home = Home(place)
        self.client = None
        self.journal = []
        self.counts = collections.Counter()
        self.number = 0
        self.expected = {domain: Expectation() for domain in DOMAINS}
        self.marks = []
        self.copies = []
        # When each key was last edited through the agent, by domain and key.
        self.edited = {}
        # The keys that programs have written to files and that the agent may not have read yet, by domain.
        self.unread = collections.defaultdict(set)
        # The domains whose secret key is excluded from the history now, and all that ever were.
        self.excluded = set()
        self.ever_excluded = set()
        self.secrets = collections.defaultdict(list)
        # Whether an act may have left a copy of a displaced file.
        self.may_leave_copies = False
        self.session = self.chance.getrandbits(62)
        self.edits = 0
        self.last_numbered = None

    # --- Life

    def begin(self):
        settings = dict(self.character.settings)
        if self.character.exclusion == "from the beginning":
            settings["HistoryExcludes"] = [f"*/{SECRET}"]
            self.exclude(DOMAINS)
        if settings:
            self.home.put(SETTINGS, settings)
        self.home.replace("model.xml", plistlib.dumps({"width": 1}))
        self.home.replace("model.binary", plistlib.dumps({"height": 2.5}, fmt=plistlib.FMT_BINARY))
        self.expected["model.xml"].set({"width": 1})
        self.expected["model.binary"].set({"height": 2.5})
        self.start()
        self.check()

    def start(self):
        self.home.start()
        self.connect()

    def connect(self):
        self.client = Client(self.home)

    def end(self, number=signal.SIGTERM):
        """Ends the agent by a signal. Programs may then change files, until `start`."""
        self.client.close()
        self.home.signal(number)
        self.home.wait()
        self.miss_unread()
        left = self.temporary_files()
        if left:
            self.say("the agent has left", len(left), "temporary files")
            # If the log no longer covers what a displaced file was made from, the next agent makes a copy.
            self.may_leave_copies |= not self.character.has_long_log

    def miss_unread(self):
        """Records that the agent has ended, and may not have read what programs wrote last."""
        for domain, keys in self.unread.items():
            self.miss(domain, keys)
        self.unread.clear()

    def miss(self, domain, keys):
        """Records that keys were changed while no agent was running."""
        for mark in self.marks:
            mark.unseen[domain].update(keys)
        for copy in self.copies:
            copy.is_known = copy.is_known and (copy.domain != domain or not keys)

    def exclude(self, domains):
        self.excluded.update(domains)
        self.ever_excluded.update(domains)

    # --- Choices

    def say(self, *words):
        """Writes a line into the journal, which a failure shows."""
        self.journal.append(f"{len(self.journal):5} {time.time() % 1000:8.4f} " + " ".join(map(str, words)))

    def domain(self):
        return self.chance.choice(DOMAINS)

    def keys(self, count, among=KEYS):
        """Chooses keys; the excluded one is frequent where it is excluded now or then."""
        keys = self.chance.sample(among, count)
        if keys and self.character.exclusion != "never" and self.chance.random() < 0.35:
            keys[0] = SECRET
        return keys

    def value(self, key, is_unique=False):
        """Makes up a value. Those in files are always new, so that no file equals an older version by chance."""
        self.number += 1
        number = self.number
        if key == SECRET:
            return f"secret-{number}-{self.chance.getrandbits(40):x}"
        if not is_unique and self.chance.random() < 0.2:
            return self.chance.choice([0, 1, True, False, "", "x", [], {}])
        return self.chance.choice([
            f"value {number}", number, number + 0.25, [number, "größe", {"nested": number}], {"a": number, "b": [True]},
            b"data %d" % number, "long " * 40 + str(number), "longer " * 900 + str(number)])

    def changes(self, domain, keys, removal=0.25, is_unique=False):
        """Makes up new values for keys, or removes them."""
        changes = {}
        for key in keys:
            is_removed = self.chance.random() < removal
            changes[key] = None if is_removed else self.value(key, is_unique)
            if key == SECRET and not is_removed:
                self.secrets[domain].append(changes[key])
        return changes

    def described(self, domain, changes):
        return domain + " " + ", ".join(f"{key}={brief(value)}" for key, value in changes.items())

    # --- Checks

    def synchronize(self):
        """Waits until everything is saved and read; returns the cursor."""
        answer = self.client.ask(type="synchronize")
        if answer["type"] != "synchronized" or answer["failures"]:
            raise Failure(f"synchronize is answered with {answer}.")
        self.unread.clear()
        return answer["cursor"]

    def read(self, domain):
        answer = self.client.ask(type="read", domain=domain)
        if answer["type"] != "values" or "damage" in answer:
            raise Failure(f"read is answered with {answer}.")
        return answer["values"]

    def check(self):
        """Compares every value in the agent and in the files with the model."""
        cursor = self.synchronize()
        for domain, expected in self.expected.items():
            found = self.read(domain)
            if not expected.settle(found):
                raise Failure(f"{domain} in the agent: {self._contrast(found, expected)}")
            in_file = parse(self.home.copy_unnoticed(domain))
            if not is_same(in_file, found):
                raise Failure(f"{domain} in the file: {self._contrast(in_file, expected)}")
        self.marks.append(Mark(cursor, {domain: dict(one.values) for domain, one in self.expected.items()}))
        del self.marks[:-40]
        self.counts["checks"] += 1
        return cursor

    def _contrast(self, found, expected):
        nearest = min(expected.possibilities, key=lambda one: len(differences(found, one)))
        keys = differences(found, nearest)
        text = "; ".join(f"{key} is {brief(found.get(key))} instead of {brief(nearest.get(key))}" for key in keys)
        count = len(expected.possibilities)
        return text + (f" (the nearest of {count} possibilities)" if count > 1 else "")

    def check_secrets(self):
        """Checks that no value of an excluded key is in the history's files. Those from before take a moment to go."""
        deadline = time.monotonic() + 10
        while True:
            found = self._leaks()
            if not found:
                return
            if time.monotonic() > deadline:
                raise Failure("The history has values of an excluded key: " + ", ".join(found))
            time.sleep(0.1)

    def _leaks(self):
        found = []
        for path in self.home.state.rglob("*"):
            try:
                data = path.read_bytes() if path.is_file() else b""
            except FileNotFoundError:
                continue
            for domain in sorted(self.excluded):
                found += [f"{value} in {path.name}" for value in self.secrets[domain][-50:] if value.encode() in data]
        return found

    def temporary_files(self):
        """The names of the agent's temporary files, which a killed agent may leave to the next one."""
        names = sorted(path.name for path in self.home.directory.iterdir())
        return [name for name in names if re.match(r"\.defaultsd\.\d", name)]

    def check_remains(self):
        """Checks that no temporary file or copy is left after the agent's end."""
        left = self.temporary_files()
        if left:
            raise Failure("Temporary files are left: " + ", ".join(left))
        for path in sorted(self.home.directory.iterdir()):
            name = path.name
            is_copy = ".displaced-" in name or ".damaged-" in name
            if is_copy and not (self.may_leave_copies and path.stat().st_size):
                raise Failure(f"A copy is left: {name}, {path.stat().st_size} bytes")

    # --- What other programs do to files

    def write_file(self, domain, loaded, changes, in_place=False):
        """Writes a file as a program that has loaded its bytes and makes some changes, and tells the model."""
        data = serialized(changed(parse(loaded), changes), loaded)
        begin = time.monotonic()
        (self.home.write_in_place if in_place else self.home.replace)(domain, data)
        self.expect_written(domain, changes, begin)

    def expect_written(self, domain, changes, begin):
        """Tells the model that a program has changed keys, by a write that began at some time."""
        for key, value in changes.items():
            is_tie = begin - self.edited.get((domain, key), 0) < TIE
            (self.expected[domain].change_or_not if is_tie else self.expected[domain].change)({key: value})
        if self.home.agent is None:
            self.miss(domain, changes)
        else:
            self.unread[domain].update(changes)


class Act:
    """Something that happens in a trial, with the weight of its choice."""

    def __init__(self, function, weight):
        self.name = function.__name__
        self.function = function
        self.weight = weight


ACTS = []


def act(weight):
    """Registers a function as an act. It gets the trial, and does nothing if it can't be done now."""
    def register(function):
        ACTS.append(Act(function, weight))
        return function
    return register
