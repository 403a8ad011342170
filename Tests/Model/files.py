"""Programs that know nothing of the agent, and write the files themselves while it runs."""

import time

from agent import parse
from edits import make_edit
from model import Copy
from trial import KEYS, act


def pause(trial, *choices):
    time.sleep(trial.chance.choice(choices))


def check_or_not(trial):
    """Often lets the agent read the file, so that the next acts also meet one that it hasn't read."""
    if trial.chance.random() < 0.7:
        trial.check()


@act(8)
def edit_a_file_and_replace_it(trial):
    """A program reads a file, changes keys, and replaces the file. Edits that are being saved must survive."""
    domain = trial.domain()
    loaded = trial.home.read(domain)
    changes = trial.changes(domain, trial.keys(trial.chance.choice([1, 1, 2])), removal=0, is_unique=True)
    pause(trial, 0, 0, 0.001, 0.01, 0.02)
    trial.say("a program replaces", trial.described(domain, changes))
    trial.write_file(domain, loaded, changes)
    check_or_not(trial)


@act(5)
def edit_a_file_in_place(trial):
    domain = trial.domain()
    loaded = trial.home.read(domain)
    changes = trial.changes(domain, trial.keys(trial.chance.choice([1, 1, 2])), removal=0, is_unique=True)
    pause(trial, 0, 0, 0.001, 0.01, 0.02)
    trial.say("a program writes in place", trial.described(domain, changes))
    trial.write_file(domain, loaded, changes, in_place=True)
    check_or_not(trial)


def add_by_an_edit(trial, domain):
    """Adds a key that had no value before; returns it."""
    trial.check()
    key, = trial.keys(1)
    if key in trial.expected[domain].values:
        make_edit(trial, domain, {key: None})
        trial.check()
    make_edit(trial, domain, trial.changes(domain, [key], removal=0, is_unique=True))
    trial.check()
    return key


def read_and_remove(trial, domain, key):
    """A program reads the newest version, removes a key, and replaces the file: everything that it changed applies."""
    loaded = trial.home.read(domain)
    others = [other for other in trial.chance.sample(KEYS, trial.chance.choice([0, 2])) if other != key]
    changes = {key: None} | trial.changes(domain, others, removal=0, is_unique=True)
    trial.say("a program removes", trial.described(domain, changes))
    trial.write_file(domain, loaded, changes)
    trial.check()


@act(3)
def remove_from_a_file(trial):
    """A program reads what the agent has just saved, and removes the key that was added, or another one."""
    domain = trial.domain()
    added = add_by_an_edit(trial, domain)
    read_and_remove(trial, domain, trial.chance.choice([added, *sorted(trial.expected[domain].values)]))


@act(1)
def remove_from_a_foreign_file(trial):
    """A program reads what another program has just written, and removes the key that was added before that."""
    domain = trial.domain()
    added = add_by_an_edit(trial, domain)
    keys = [key for key in trial.chance.sample(KEYS, 2) if key != added]
    changes = trial.changes(domain, keys[:1], removal=0, is_unique=True)
    trial.say("a program replaces", trial.described(domain, changes))
    trial.write_file(domain, trial.home.read(domain), changes)
    trial.check()
    # The access time shows a read only if it is later than the time of the write, and the kernel's clock for it is coarse.
    time.sleep(0.02)
    read_and_remove(trial, domain, added)


@act(4)
def write_held_values(trial):
    """A program reads a file. Edits are saved, which it doesn't read. Then it writes its values with another change."""
    domain = trial.domain()
    trial.check()
    held = trial.home.read(domain)
    if held is None:
        return
    among = trial.chance.sample(KEYS, len(KEYS))
    for _ in range(trial.chance.choice([1, 2, 3])):
        make_edit(trial, domain, trial.changes(domain, trial.keys(1, among[:4]), is_unique=True))
        trial.synchronize()
    in_place = trial.chance.random() < 0.4
    pause(trial, 0, 0, 0, 0.2, 1)
    # Whether a file that was removed with its last key has been read isn't known.
    if not in_place and trial.chance.random() < 0.03 and trial.home.path(domain).exists():
        time.sleep(6)
    changes = trial.changes(domain, [among[4]], removal=0, is_unique=True)
    trial.say("a program writes its held values", "in place" if in_place else "", trial.described(domain, changes))
    trial.write_file(domain, held, changes, in_place)
    trial.check()


@act(2)
def switch_on_and_off(trial):
    """A program that holds its values adds a key, and takes it away again, while an edit of another key is saved.

    If the program changes nothing else, this can't be told from the restore of an older version, so both may follow.
    """
    domain = trial.domain()
    trial.check()
    held = trial.home.read(domain)
    if held is None:
        return
    switch, other, third = trial.chance.sample(KEYS, 3)
    before = dict(trial.expected[domain].values)
    if switch in before:
        return
    trial.say("a program switches on", domain, switch)
    trial.write_file(domain, held, {switch: trial.value(switch, is_unique=True)})
    trial.check()
    make_edit(trial, domain, {other: trial.value(other, is_unique=True)})
    trial.synchronize()
    pause(trial, 0, 0.1, 0.3)
    changes = {switch: None}
    if trial.chance.random() < 0.5:
        changes[third] = trial.value(third, is_unique=True)
    trial.say("a program switches off", trial.described(domain, changes))
    trial.write_file(domain, held, changes)
    if third not in changes:
        trial.expected[domain].allow(before)
    trial.check()


# --- Copies of earlier versions

def remember(trial, domain, data, source):
    """Stores the bytes of a version. The synchronized file has what the model has."""
    if data is not None:
        description = f"{len(trial.journal)} from {source}"
        trial.say("copy", description, domain)
        trial.copies.append(Copy(
            domain, data, dict(trial.expected[domain].values), description, trial.home.writes[domain]))
        del trial.copies[:-12]


@act(2)
def copy_a_version(trial):
    domain = trial.domain()
    trial.check()
    remember(trial, domain, trial.home.read(domain), "the file")


@act(2)
def copy_a_version_from_the_disk(trial):
    """Takes a snapshot of the block device, so that nothing shows that the version was read."""
    domain = trial.domain()
    trial.check()
    remember(trial, domain, trial.home.copy_unnoticed(domain), "the disk")


@act(3)
def restore_a_version(trial):
    """A program puts back the bytes of an earlier version: everything in it applies."""
    if not trial.copies:
        return
    copy = trial.chance.choice(trial.copies)
    domain = copy.domain
    trial.check()
    is_known = copy.is_known and trial.character.has_long_log and domain not in trial.ever_excluded
    if not is_known:
        # The log may not know the version. Then the program must have read the newest one, which the agent saved.
        key, = trial.keys(1)
        make_edit(trial, domain, {key: trial.value(key, is_unique=True)})
        trial.check()
    if not is_known or copy.writes != trial.home.writes[domain]:
        trial.home.read(domain)
    in_place = is_known and trial.chance.random() < 0.3
    if in_place:
        # A program that writes the same again within half a second restores nothing.
        time.sleep(0.6)
    trial.say("a program restores copy", copy.description, "in place" if in_place else "", domain)
    (trial.home.write_in_place if in_place else trial.home.replace)(domain, copy.data)
    trial.unread[domain].update(copy.values, trial.expected[domain].values)
    trial.expected[domain].set(copy.values)
    check_or_not(trial)


# --- Writes that change nothing

@act(2)
def write_without_a_change(trial):
    """A program touches a file, or writes the same bytes."""
    domain, write = trial.domain(), trial.chance.choice(IDLE_WRITES)
    trial.check()
    trial.say(write.__name__, domain)
    write(trial, domain)
    check_or_not(trial)


def touch(trial, domain):
    path = trial.home.path(domain)
    if path.exists():
        path.touch()


def write_the_same_in_place(trial, domain):
    data = trial.home.read(domain)
    if data is not None:
        trial.home.write_in_place(domain, data)


def replace_by_a_copy(trial, domain):
    data = trial.home.read(domain)
    if data is not None:
        trial.home.replace(domain, data)


IDLE_WRITES = (touch, write_the_same_in_place, replace_by_a_copy)
