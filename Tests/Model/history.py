"""The history: undo, redo, values of the past, and the records themselves."""

import json
import plistlib

from agent import Failure
from edits import make_edit
from model import brief, differences
from trial import KEYS, SECRET, act


def reversible(trial, domain, keys):
    """Leaves out the keys of which the history need not know the values."""
    return [key for key in keys if key != SECRET or domain not in trial.ever_excluded]


def same_epoch(trial, cursor):
    """Returns the marks that belong to the same log as a cursor."""
    epoch = cursor.split(":")[0]
    return [mark for mark in trial.marks if mark.cursor.split(":")[0] == epoch]


def run(trial, domain, *arguments):
    """Runs a command that may change values; returns it with the values that the domain has then."""
    trial.say("defaults", *arguments)
    finished = trial.home.command(*arguments)
    trial.say("status", finished.returncode, repr((finished.stdout + finished.stderr)[:300]))
    found = trial.read(domain)
    trial.expected[domain].set(found)
    return finished, found


def demand(trial, domain, finished, wanted):
    """Checks that an undo or a redo has succeeded, and that the domain has the wanted values."""
    found = trial.read(domain)
    keys = differences(found, wanted)
    output = finished.stdout + finished.stderr
    if finished.returncode or keys:
        raise Failure(f"{finished.args[1:]} leaves {keys} of {domain}: status {finished.returncode}: {output[:500]}")
    trial.expected[domain].set(wanted)


def make_change(trial, domain):
    """Makes a change that has to be undone: by an edit, or by another program in the file."""
    values = trial.expected[domain].values
    keys = trial.chance.sample(KEYS, trial.chance.choice([1, 2]))
    changes = {keys[0]: trial.value(keys[0], is_unique=True)}
    changes.update((key, None) for key in keys[1:] if key in values)
    if trial.chance.random() < 0.6:
        make_edit(trial, domain, changes)
    else:
        trial.say("a program replaces", trial.described(domain, changes))
        trial.write_file(domain, trial.home.read(domain), changes)
    trial.check()


@act(3)
def undo_and_redo(trial):
    """Undoes the last one or two change sets of a domain, and redoes them."""
    domain, count = trial.domain(), trial.chance.choice([1, 2])
    trial.check()
    before = dict(trial.expected[domain].values)
    for _ in range(count):
        make_change(trial, domain)
    after = dict(trial.expected[domain].values)
    options = ["--last", str(count)] if count > 1 else []
    finished, _ = run(trial, domain, "undo", *options, domain)
    demand(trial, domain, finished, before)
    trial.counts["undos"] += 1
    if trial.chance.random() < 0.6:
        finished, _ = run(trial, domain, "redo", domain)
        demand(trial, domain, finished, after)
        trial.counts["redos"] += 1
    trial.check()


@act(3)
def undo_since_a_mark(trial):
    """Undoes everything since a cursor: each key gets back its value of that time, and a redo reverses that."""
    domain = trial.domain()
    marks = same_epoch(trial, trial.check())[-12:]
    before = dict(trial.expected[domain].values)
    mark = trial.chance.choice(marks)
    finished, found = run(trial, domain, "undo", "--since", mark.cursor, domain)
    trial.counts["undos since a cursor"] += 1
    if trial.character.has_whole_history:
        # The command names the keys that it leaves alone.
        keys = reversible(trial, domain, differences(found, mark.values[domain]))
        keys = [key for key in keys if key not in mark.unseen[domain]]
        if finished.returncode == 1:
            keys = [key for key in keys if key not in finished.stderr]
        if keys or finished.returncode not in (0, 1):
            raise Failure(f"undo --since {mark.cursor} {domain}: {keys} aren't what they were: {finished.stderr}")
    # It says what it changes; without that, a redo is one of an earlier undo.
    if finished.returncode == 0 and finished.stdout and trial.chance.random() < 0.5:
        finished, _ = run(trial, domain, "redo", domain)
        demand(trial, domain, finished, before)
    trial.check()


@act(4)
def read_the_past(trial):
    """Reads a domain as it was at a cursor. Keys whose values then aren't known must be named."""
    domain = trial.domain()
    mark = trial.chance.choice(same_epoch(trial, trial.check()))
    wanted = mark.values[domain]
    trial.say("read", domain, "--at", mark.cursor)
    finished = trial.home.command("read", domain, "--at", mark.cursor, "--plist", "xml")
    trial.say("status", finished.returncode, repr(finished.stderr[:300]))
    if finished.returncode == 1 and not wanted:
        return
    if finished.returncode not in (0, 65):
        raise Failure(f"read --at {mark.cursor} {domain}: status {finished.returncode}: {finished.stderr}")
    found = plistlib.loads(finished.stdout.encode()) if finished.stdout else {}
    keys = reversible(trial, domain, differences(found, wanted))
    if finished.returncode == 65:
        keys = [key for key in keys if key not in finished.stderr]
    if "no agent was running" in finished.stderr:
        keys = [key for key in keys if key not in mark.unseen[domain]]
    if keys:
        raise Failure(f"read --at {mark.cursor} {domain}: {keys} aren't what they were: {finished.stderr}")
    trial.counts[f"reads of the past with status {finished.returncode}"] += 1


@act(1)
def check_the_history(trial):
    """Checks the history's records: their revisions are in order, and each old value is the former record's new one."""
    trial.check()
    finished = trial.home.command("log", "--json", "-n", "1000000")
    records = [json.loads(line) for line in finished.stdout.splitlines()]
    records.reverse()
    revisions = [int(record["cursor"].split(":")[1]) for record in records]
    if finished.returncode or revisions != sorted(set(revisions)):
        raise Failure(f"defaults log: status {finished.returncode}: {finished.stderr}: {revisions}")
    last = {}
    for record in records:
        follow(trial, record, last)
    for (domain, key), value in last.items():
        now = trial.expected[domain].values.get(key) if domain in trial.expected else None
        if isinstance(now, str) and value != now:
            raise Failure(f"The history of {domain} {key} ends with {brief(value)} instead of {brief(now)}.")


def follow(trial, record, last):
    """Compares one record with the last values, by domain and key, and updates these."""
    domain = record.get("domain")
    if record["type"] == "gap" and "excluded" not in record["reason"]:
        # Any key may have changed.
        for known in [known for known in last if known[0] == domain]:
            del last[known]
    for change in record.get("changes", []):
        known, old = (domain, change["key"]), change.get("old")
        is_whole = trial.character.has_whole_history and change["key"] != SECRET
        if is_whole and known in last and json.dumps(last[known]) != json.dumps(old):
            cursor = record["cursor"]
            raise Failure(f"The history of {known} has {brief(old)} at {cursor}, but {brief(last[known])} before.")
        last[known] = change.get("new")
        trial.counts["links"] += 1
