"""Edits through the agent: by its protocol, and by commands."""

import json
import time

from agent import Failure
from trial import KEYS, act


def edit_message(trial, domain, changes, is_numbered):
    message = {
        "type": "edit", "domain": domain, "set": {key: value for key, value in changes.items() if value is not None},
        "remove": [key for key, value in changes.items() if value is None]}
    if is_numbered:
        trial.edits += 1
        message |= {"session": trial.session, "edit": trial.edits}
        trial.last_numbered = message
    return message


def expect_edited(trial, domain, changes):
    """Tells the model that an edit was acknowledged."""
    trial.expected[domain].change(changes)
    for key in changes:
        trial.edited[domain, key] = time.monotonic()


def make_edit(trial, domain, changes, is_numbered=False):
    """Makes an edit by the protocol that must be acknowledged."""
    trial.say("edit", "numbered" if is_numbered else "", trial.described(domain, changes))
    answer = trial.client.ask(**edit_message(trial, domain, changes, is_numbered))
    if answer["type"] != "edited":
        raise Failure(f"An edit is answered with {answer}.")
    expect_edited(trial, domain, changes)


@act(30)
def edit(trial):
    domain = trial.domain()
    changes = trial.changes(domain, trial.keys(trial.chance.choice([1, 1, 1, 2, 4])))
    make_edit(trial, domain, changes, is_numbered=trial.chance.random() < 0.5)


@act(4)
def edit_on_a_condition(trial):
    """Makes an edit that depends on a value. With another value, it must be refused."""
    domain = trial.domain()
    trial.check()
    changes, (key,) = trial.changes(domain, trial.keys(2)), trial.keys(1)
    value = trial.expected[domain].values.get(key)
    holds = trial.chance.random() < 0.7
    condition = {"expected": {key: "another value"}}
    if holds:
        condition = {"expected": {}, "absent": [key]} if value is None else {"expected": {key: value}}
    trial.say("edit on a condition", "that holds" if holds else "that fails", key, trial.described(domain, changes))
    answer = trial.client.ask(**edit_message(trial, domain, changes, False), **condition)
    if holds and answer["type"] == "edited":
        expect_edited(trial, domain, changes)
    elif holds or answer.get("code") != "changed":
        raise Failure(f"An edit on a condition is answered with {answer}.")


@act(2)
def replace_all_values(trial):
    domain = trial.domain()
    trial.check()
    changes = trial.changes(domain, trial.keys(trial.chance.choice([0, 1, 3])), removal=0)
    trial.say("replace all values", trial.described(domain, changes))
    removed = {key: None for key in trial.expected[domain].values}
    answer = trial.client.ask(**edit_message(trial, domain, changes, False), replaces=True)
    if answer["type"] != "edited":
        raise Failure(f"A replacing edit is answered with {answer}.")
    expect_edited(trial, domain, removed | changes)


@act(3)
def send_an_edit_again(trial):
    """Sends the last numbered edit again, which must have no effect, whatever has happened in between."""
    if trial.last_numbered is None:
        return
    trial.say("send again", trial.last_numbered["edit"])
    answer = trial.client.ask(**trial.last_numbered)
    if answer["type"] != "edited":
        raise Failure(f"An edit that was sent again is answered with {answer}.")


# --- Commands

def run_command(trial, domain, changes, *arguments, text=None):
    """Runs a command that must succeed and make some changes."""
    trial.say("defaults", *(argument if len(argument) < 60 else brief_argument(argument) for argument in arguments))
    finished = trial.home.command(*arguments, text=text)
    if finished.returncode:
        raise Failure(f"defaults {arguments[0]}: status {finished.returncode}: {finished.stdout}{finished.stderr}")
    expect_edited(trial, domain, changes)


def brief_argument(argument):
    return f"{argument[:40]}…"


def command_key(trial):
    key, = trial.keys(1, [key for key in KEYS if "." not in key])
    return key


@act(2)
def write_by_command(trial):
    domain, key = trial.domain(), command_key(trial)
    changes = trial.changes(domain, [key], removal=0)
    changes[key] = str(changes[key])
    run_command(trial, domain, changes, "write", domain, key, "-string", changes[key])


@act(2)
def delete_by_command(trial):
    domain, key = trial.domain(), command_key(trial)
    trial.check()
    if key in trial.expected[domain].values:
        run_command(trial, domain, {key: None}, "delete", domain, key)
    elif trial.home.command("delete", domain, key).returncode == 0:
        raise Failure(f"defaults delete {domain} {key} succeeds without a value.")


@act(2)
def rename_by_command(trial):
    domain = trial.domain()
    trial.check()
    old, new = trial.chance.sample([key for key in KEYS if "." not in key], 2)
    values = trial.expected[domain].values
    if old in values:
        run_command(trial, domain, {old: None, new: values[old]}, "rename", domain, old, new)
    elif trial.home.command("rename", domain, old, new).returncode == 0:
        raise Failure(f"defaults rename {domain} {old} {new} succeeds without a value.")


@act(2)
def import_by_command(trial):
    domain = trial.domain()
    trial.number += 1
    changes = {key: f"imported {trial.number}" for key in trial.chance.sample(KEYS, 2)}
    run_command(trial, domain, changes, "import", domain, "-", text=json.dumps(changes))


@act(2)
def add_to_an_array_by_command(trial):
    domain, key = trial.domain(), command_key(trial)
    trial.check()
    former = trial.expected[domain].values.get(key, [])
    if isinstance(former, list):
        trial.number += 1
        element = f"element {trial.number}"
        run_command(trial, domain, {key: [*former, element]}, "write", domain, key, "-array-add", "-string", element)


@act(2)
def add_to_a_dictionary_by_command(trial):
    domain, key = trial.domain(), command_key(trial)
    trial.check()
    former = trial.expected[domain].values.get(key, {})
    if isinstance(former, dict):
        trial.number += 1
        entry = f"entry {trial.number}"
        changes = {key: former | {"entry": entry}}
        run_command(trial, domain, changes, "write", domain, key, "-dict-add", "entry", "-string", entry)
