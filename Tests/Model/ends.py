"""The ends of agents, and what happens to files until the next one starts."""

import signal
import threading
import time

import files
from agent import SETTINGS, Failure, parse
from edits import edit_message, expect_edited, make_edit
from model import changed, serialized
from trial import DOMAINS, KEYS, SECRET, act


# --- While no agent is running

def edit_offline(trial, domain):
    """A program edits a file while no agent is running."""
    loaded = trial.home.read(domain)
    changes = trial.changes(domain, trial.keys(trial.chance.choice([1, 2])), removal=0, is_unique=True)
    in_place = trial.chance.random() < 0.4
    trial.say("meanwhile a program writes", "in place" if in_place else "", trial.described(domain, changes))
    trial.write_file(domain, loaded, changes, in_place)


def write_offline(trial):
    """Lets programs write files, or not, before the next agent starts. Returns whether they changed any value."""
    is_changed = False
    for domain in trial.chance.sample(DOMAINS, trial.chance.choice([0, 0, 1, 3])):
        write = trial.chance.choice([edit_offline, *files.IDLE_WRITES])
        if write is edit_offline:
            is_changed = True
        else:
            trial.say("meanwhile", write.__name__, domain)
        write(trial, domain)
    return is_changed


def end_and_start(trial, number):
    """Ends the agent, and starts the next one."""
    trial.say("end by", number.name)
    trial.home.signal(number)
    finish_end(trial, number)


def finish_end(trial, number):
    """Waits for the end of an agent that got a signal, and starts the next one. Returns whether values were changed."""
    trial.counts[f"ends by {number.name}"] += 1
    if number == signal.SIGUSR2:
        # The process goes on with the program's next version.
        trial.client.wait_for_end()
        trial.miss_unread()
        trial.connect()
        return False
    trial.end(number)
    is_changed = write_offline(trial)
    trial.start()
    return is_changed


def any_end(trial):
    return trial.chance.choice([signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGUSR2])


@act(2)
def end_at_rest(trial):
    trial.check()
    end_and_start(trial, any_end(trial))
    trial.check()


@act(3)
def end_with_pending_edits(trial):
    """Ends the agent right after edits were acknowledged, or while it saves them."""
    trial.check()
    for _ in range(trial.chance.choice([1, 1, 2, 5])):
        domain = trial.domain()
        make_edit(trial, domain, trial.changes(domain, trial.keys(trial.chance.choice([1, 2]))))
    time.sleep(trial.chance.choice([0, trial.character.delay + trial.chance.uniform(0, 0.01)]))
    end_and_start(trial, any_end(trial))
    trial.check()


# --- Amid requests

class Sent:
    """An edit that was sent."""

    def __init__(self, changes, message):
        self.changes = changes
        self.message = message
        self.request = None


@act(6)
def end_amid_requests(trial):
    """Ends the agent while edits are under way. One that it didn't answer has happened as a whole, or not at all."""
    domain, is_numbered = trial.domain(), trial.chance.random() < 0.5
    trial.check()
    number = trial.chance.choice([signal.SIGKILL] * 6 + [signal.SIGTERM, signal.SIGUSR2])
    trial.say(number.name, "soon")
    trial.counts["ends amid requests"] += 1
    thread = threading.Timer(trial.chance.uniform(0, 0.03), trial.home.signal, [number])
    thread.start()
    unanswered = send_until_end(trial, domain, is_numbered)
    thread.join()
    is_changed = finish_end(trial, number)
    if unanswered and is_numbered and not is_changed:
        send_again(trial, domain, unanswered)
    elif unanswered:
        trial.last_numbered = None
    trial.check()


def send_until_end(trial, domain, is_numbered):
    """Sends edits, one by one or several at once, until the agent ends. Returns those that it didn't answer."""
    for _ in range(100):
        sent = []
        for _ in range(trial.chance.choice([1, 1, 1, 3])):
            changes = trial.changes(domain, trial.keys(trial.chance.choice([1, 2, 3])))
            trial.say("edit", "numbered" if is_numbered else "", trial.described(domain, changes))
            sent.append(Sent(changes, edit_message(trial, domain, changes, is_numbered)))
        unanswered = collect(trial, domain, sent)
        if unanswered:
            return unanswered
    return []


def collect(trial, domain, sent):
    """Sends edits, receives the answers, and tells the model. Returns the edits from the first unanswered one on."""
    try:
        for one in sent:
            one.request = trial.client.send(**one.message)
    except ConnectionError:
        pass
    first = None
    for index, one in enumerate(sent):
        if is_answered(trial, one):
            expect_edited(trial, domain, one.changes)
        else:
            trial.say("unanswered", trial.described(domain, one.changes))
            trial.counts["unanswered edits"] += 1
            trial.expected[domain].change_or_not(one.changes)
            first = index if first is None else first
    return [] if first is None else sent[first:]


def is_answered(trial, one):
    if one.request is None:
        return False
    try:
        answer = trial.client.answer(one.request)
    except ConnectionError:
        return False
    if answer["type"] != "edited":
        raise Failure(f"An edit is answered with {answer}.")
    return True


def send_again(trial, domain, unanswered):
    """Sends numbered edits again to the next agent. Then each of them is in effect, and none twice."""
    for one in unanswered:
        trial.say("send again", one.message["edit"])
        answer = trial.client.ask(**one.message)
        if answer["type"] != "edited":
            raise Failure(f"An edit that was sent again is answered with {answer}.")
        expect_edited(trial, domain, one.changes)


# --- With a file that is open

@act(3)
def write_a_displaced_file(trial):
    """A program has a file open while edits are saved, so that it writes into the displaced file.

    That must be merged, even if the agent is killed before, and must not undo the edits.
    """
    domain = trial.domain()
    trial.check()
    path = trial.home.path(domain)
    if not path.exists():
        return
    way = trial.chance.choice(["kill while it is open", "kill when it is closed", "kill when it is merged", "no kill"])
    trial.say("a program opens", domain)
    trial.home.writes[domain] += 1
    with open(path, "r+b") as file:
        loaded = file.read()
        among = trial.chance.sample(KEYS, len(KEYS))
        for _ in range(trial.chance.choice([1, 1, 2])):
            keys = trial.keys(trial.chance.choice([1, 2]), among[:4])
            make_edit(trial, domain, trial.changes(domain, keys, is_unique=True))
            trial.synchronize()
        before = dict(trial.expected[domain].values)
        changes = {among[4]: trial.value(among[4], is_unique=True)}
        if trial.chance.random() < 0.5:
            # A short log forgets the edits for this.
            changes[among[5]] = f"long {trial.number} " * 700
        trial.say("the program writes", trial.described(domain, changes), way)
        begin = time.monotonic()
        file.seek(0)
        file.write(serialized(changed(parse(loaded), changes), loaded))
        file.truncate()
        file.flush()
        if way == "kill while it is open":
            trial.home.signal(signal.SIGKILL)
            trial.home.agent.wait()
    trial.expect_written(domain, changes, begin)
    if not trial.character.has_long_log and way.startswith("kill"):
        # If the log no longer covers the version that the program had read, a copy is made instead.
        trial.expected[domain].allow(before)
        trial.may_leave_copies = True
    if way in ("kill when it is merged", "no kill"):
        trial.check()
    if way == "no kill":
        return
    if way == "kill when it is merged":
        time.sleep(trial.chance.choice([0, 0.1, 0.4, 1]))
    trial.end(signal.SIGKILL)
    trial.counts["kills with a displaced file"] += 1
    trial.start()
    trial.check()


# --- Exclusions

def change_exclusion(trial):
    """Excludes the secret key from the history, by the setting or a manifest, or ends that."""
    if trial.character.exclusion == "by the setting":
        settings = dict(trial.character.settings)
        if trial.excluded:
            trial.say("exclude nothing")
            trial.excluded.clear()
        else:
            trial.say("exclude the secret key")
            settings["HistoryExcludes"] = [f"*/{SECRET}"]
            trial.exclude(DOMAINS)
        trial.home.put(SETTINGS, settings)
        return
    domain = trial.domain()
    if domain in trial.excluded:
        trial.say("remove the manifest of", domain)
        trial.excluded.remove(domain)
        (trial.home.manifests / f"{domain}.plist").unlink()
    else:
        trial.say("install a manifest for", domain)
        trial.exclude([domain])
        trial.home.install_manifest(domain, [SECRET])


@act(3)
def exclude_with_pending_edits(trial):
    """Changes which keys the history excludes, while acknowledged edits aren't saved yet. The agent may be killed."""
    if not trial.character.exclusion.startswith("by"):
        return
    trial.check()
    for domain in DOMAINS:
        keys = [SECRET, *trial.chance.sample(KEYS, trial.chance.choice([0, 1]))]
        make_edit(trial, domain, trial.changes(domain, keys))
    change_exclusion(trial)
    time.sleep(trial.chance.uniform(0, 1.5 * trial.character.delay))
    if trial.chance.random() < 0.7:
        end_and_start(trial, signal.SIGKILL)
    trial.check()
    trial.check_secrets()
