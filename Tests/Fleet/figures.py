"""Measures a fleet: the time of an edit, many offline edits, bytes, and memory at rest.

With --life COUNT, lives a life of many sessions instead, most of which are killed."""

import json
import pathlib
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time

from machines import PROGRAMS, Machine, await_true
from test_tools import Syncthing

DOMAIN = "org.example.editor"


def memory(process):
    """The resident memory of a process in MB, in all and without its files."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    fields = {line.split(":")[0]: line.split()[1] for line in text.splitlines() if "Rss" in line or "VmRSS" in line}
    return int(fields["VmRSS"]) / 1000, int(fields["RssAnon"]) / 1000


def size(place, pattern):
    return sum(path.stat().st_size for path in pathlib.Path(place).glob(pattern) if path.is_file())


def delays(source, target, count, action):
    """Returns the times from actions on one machine until another has them, in milliseconds, sorted."""
    times = []
    follower = target.follow(DOMAIN)
    for number in range(count):
        start = time.monotonic()
        action(number)
        json.loads(follower.stdout.readline())
        times.append((time.monotonic() - start) * 1000)
    follower.terminate()
    follower.wait()
    return sorted(times)


def show(title, times):
    print(f"{title}: p50 {statistics.median(times):.0f} ms, worst {times[-1]:.0f} ms of {len(times)}", flush=True)


def pair(place, folder=None):
    a, b = Machine(place, "a", folder), Machine(place, "b", folder)
    a.found()
    a.start()
    a.fleet("add", DOMAIN, "*")
    return a, b


def shared(place):
    folder = pathlib.Path(place) / "folder"
    folder.mkdir()
    a, b = pair(place, folder)
    b.join(a)
    b.start()
    command = sorted(
        (lambda start: (a.set(DOMAIN, "own", str(number)), time.monotonic() - start)[1] * 1000)(time.monotonic())
        for number in range(50))
    show("The command that sets a value", command)
    show("Command and fleet, one folder", delays(a, b, 100, lambda number: a.set(DOMAIN, f"k{number}", str(number))))
    for machine in (a, b):
        print("Connector at rest: %.0f MB, of which %.1f MB are its own" % memory(machine.connector))
    print(f"Bytes in the folder for an edit: {size(folder, '*/*') / 100:.0f}")
    # Offline edits, each a change set of its own.
    b.stop()
    before = {machine.name: size(folder, "*/*") for machine in (a, b)}
    document = pathlib.Path(place) / "values.json"
    for machine in (a, b):
        session = machine.bridge()
        for number in range(5_000):
            session.set(DOMAIN, f"{machine.name}{number % 2_500}", number)
        session.close()
    last = lambda machine: machine.values(DOMAIN).get("a2499") == 4_999 and machine.values(DOMAIN).get("b2499") == 4_999
    start = time.monotonic()
    b.start()
    await_true(lambda: last(a) and last(b) and a.values(DOMAIN) == b.values(DOMAIN), "the merge", 300)
    print(f"10,000 offline edits on two machines are merged after {time.monotonic() - start:.1f} s", flush=True)
    state = size(a.home, ".local/state/defaultsd/*.fleet/*")
    print(f"Folder: {size(folder, '*/*') / 1e6:.2f} MB; state: {state / 1e6:.2f} MB")
    print("Connector then: %.0f MB, of which %.1f MB are its own" % memory(a.connector))
    a.end()
    b.end()


def synced(place):
    a, b = pair(place)
    tools = [Syncthing(a), Syncthing(b)]
    tools[0].pair(tools[1])
    tools[1].pair(tools[0])
    for tool in tools:
        tool.start()
    await_true(lambda: all(tool.is_connected() for tool in tools), "the connection")
    await_true(lambda: list(b.folder.glob("*/*.env")), "the folder")
    b.join(a)
    b.start()
    files = []
    for number in range(20):
        start = time.monotonic()
        (a.folder / f"file{number}").write_text("x")
        await_true(lambda: (b.folder / f"file{number}").exists(), "the file")
        files.append((time.monotonic() - start) * 1000)
    show("Syncthing (fsWatcherDelayS=1), file to file", sorted(files))
    show("Edit to edit by Syncthing", delays(a, b, 20, lambda number: a.set(DOMAIN, f"k{number}", str(number))))
    for tool in tools:
        tool.stop()
    a.end()
    b.end()


def life(place, count):
    """Starts and kills connectors and agents again and again, with edits in between."""
    folder = pathlib.Path(place) / "folder"
    folder.mkdir()
    a, b = pair(place, folder)
    b.join(a)
    b.start()
    chance = random.Random(1)
    print("session   start ms   state kB   folder kB   files   own MB", flush=True)
    for session in range(1, count + 1):
        machine = chance.choice((a, b))
        how = chance.choice((signal.SIGKILL, signal.SIGTERM))
        if chance.random() < 0.2:
            machine.stop_agent(how)
            machine.start_agent()
        machine.stop(how)
        for number in range(chance.randrange(4)):
            chance.choice((a, b)).run("write", DOMAIN, f"k{chance.randrange(200)}", "-int", str(session))
        start = time.monotonic()
        machine.start()
        started = (time.monotonic() - start) * 1000
        if session % max(1, count // 10) == 0:
            await_true(lambda: a.values(DOMAIN) == b.values(DOMAIN), "equal values")
            states = size(place, "*/.local/state/defaultsd/*.fleet/*") / 2000
            files = len(list(folder.glob("*/*")))
            print(
                f"{session:7} {started:10.0f} {states:10.1f} {size(folder, '*/*') / 1000:11.1f} {files:7} "
                f"{memory(machine.connector)[1]:8.1f}", flush=True)
    for machine in (a, b):
        assert machine.status()["problems"] == [], machine.status()["problems"]
        print(machine.complaints, end="")
        machine.end()


def main():
    tasks = [shared, synced]
    if "--life" in sys.argv:
        tasks = [lambda place: life(place, int(sys.argv[sys.argv.index("--life") + 1]))]
    for task in tasks:
        place = tempfile.mkdtemp(prefix="fleet-")
        task(place)
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
