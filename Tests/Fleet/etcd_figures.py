"""Measures a fleet on etcd: the time of a push, beside etcd's own; a thousand machines; a day away; bytes; memory.

With an argument, the number of machines instead of a thousand. With --life COUNT, lives a life of many sessions instead,
most of which are killed."""

import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from cluster import NETWORK, Cluster, Receiver, enter_namespace, make_network
from figures import memory
from machines import PROGRAMS, await_true

DOMAIN = "org.example.web"


def percentiles(title, times):
    times = sorted(times)
    worst = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{title}: p50 {statistics.median(times):.1f} ms, p99 {worst:.1f} ms, worst {times[-1]:.1f} ms of {len(times)}",
          flush=True)


def settled(receiver):
    """The time at which a machine's file was last replaced, in seconds."""
    path = receiver.managed / f"{DOMAIN}.plist"
    return path.stat().st_mtime if path.exists() else 0


def etcd_times(cluster, count):
    """Times from a put to its event, between two of etcd's own clients, in milliseconds."""
    root = cluster.sign_root()
    watch = subprocess.Popen(
        ["etcdctl", f"--endpoints=https://{NETWORK}.2:2379", f"--cacert={cluster.place}/authority.pem",
         f"--cert={cluster.place}/{root}.pem", f"--key={cluster.place}/{root}-key.pem", "watch", "probe"],
        stdout=subprocess.PIPE, text=True, env={"ETCDCTL_API": "3", "PATH": "/usr/bin:/bin"})
    time.sleep(1)
    times = []
    for number in range(count):
        cluster.etcdctl("put", "probe", str(number), certificate=root, number=1)
        end = time.monotonic()
        for _ in range(3):
            watch.stdout.readline()
        times.append(max(0, (time.monotonic() - end) * 1000))
    watch.kill()
    watch.wait()
    return times


def measure_pushes(place):
    cluster = Cluster(place)
    cluster.begin()
    receiver = Receiver(cluster, "one", "web")
    receiver.start()
    await_true(cluster.machines, "a report")
    times = []
    for number in range(100):
        cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
        end = time.time()
        await_true(lambda: receiver.values(DOMAIN).get("k") == number, "the value")
        times.append(max(0, (settled(receiver) - end) * 1000))
    percentiles("from the end of a push to the file on a machine, three members", times)
    percentiles("etcd's own, from the end of a put to the event", etcd_times(cluster, 100))
    resident, private = memory(receiver.process)
    print(f"a machine at rest: {resident:.0f} MB, {private:.1f} MB its own", flush=True)
    # A day away.
    receiver.stop()
    start = time.monotonic()
    for number in range(100):
        keys = " ".join(f"key{index} = <*I{number}>;" for index in range(100))
        cluster.push("--to", "web", DOMAIN, "{" + keys + "}")
    print(f"10,000 edits in pushes of 100: {time.monotonic() - start:.1f} s", flush=True)
    start = time.monotonic()
    receiver.start()
    await_true(lambda: receiver.values(DOMAIN).get("key99") == 99, "the values")
    print(f"a machine that was away for them has all after {time.monotonic() - start:.1f} s", flush=True)
    root = cluster.sign_root()
    found = cluster.etcdctl("get", "--prefix", "/defaultsd", certificate=root).stdout.encode("utf-8", "surrogateescape")
    print(f"bytes in etcd of 101 keys, their rollouts and a report: {len(found)}", flush=True)
    receiver.stop()
    cluster.end()


def measure_many(place, count):
    cluster = Cluster(place, 1)
    cluster.begin()
    receivers = [Receiver(cluster, f"r{number:04}", "web") for number in range(count)]
    start = time.monotonic()
    for receiver in receivers:
        receiver.start()
        time.sleep(0.01)
    await_true(lambda: len(cluster.machines()) == count, "all machines", timeout=600)
    print(f"{count} machines have connected and reported after {time.monotonic() - start:.0f} s", flush=True)
    resident, private = memory(cluster.members[1])
    print(f"etcd with {count} machines: {resident:.0f} MB, {private:.0f} MB its own", flush=True)
    time.sleep(10)
    for number in range(3):
        rollout = cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
        end = time.time()
        cluster.rollout(rollout, "--wait", "120")
        percentiles(f"push {number + 1} to {count} machines on two cores",
                    [max(0, (settled(receiver) - end) * 1000) for receiver in receivers])
    print(f"etcd afterwards: {memory(cluster.members[1])[0]:.0f} MB", flush=True)
    print(f"the machines: {statistics.median(memory(receiver.process)[1] for receiver in receivers):.1f} MB each "
          "their own", flush=True)
    for receiver in receivers:
        receiver.process.kill()
    for receiver in receivers:
        receiver.process.wait()
    cluster.end()


def live(place, count):
    """Many sessions of a machine, most of which are killed; sizes and starts must stay flat."""
    cluster = Cluster(place, 1)
    cluster.begin()
    receiver = Receiver(cluster, "one", "web")
    chance = random.Random(1)
    starts = []
    for session in range(1, count + 1):
        start = time.monotonic()
        receiver.start()
        number = cluster.push("--to", "web", DOMAIN, f"k{session % 50}", "-int", str(session))
        await_true(lambda: receiver.values(DOMAIN).get(f"k{session % 50}") == session, f"session {session}")
        starts.append((time.monotonic() - start) * 1000)
        if session % 7 == 0:
            cluster.rollout(number, "--undo")
            receiver.process.send_signal(signal.SIGSTOP)
            receiver.process.send_signal(signal.SIGCONT)
        private = memory(receiver.process)[1]
        receiver.stop(signal.SIGTERM if chance.random() < 0.2 else signal.SIGKILL)
        if session % (count // 10 or 1) == 0:
            sizes = sum(path.stat().st_size for path in (receiver.home / "state").iterdir())
            names = len(list((receiver.home / "state").iterdir())) + len(list(receiver.managed.iterdir()))
            print(f"{session}: start and push {statistics.median(starts[-50:]):.0f} ms, state {sizes} bytes, "
                  f"{names} files, {private:.1f} MB, log {len(receiver.complaints)} bytes", flush=True)
    cluster.end()


if __name__ == "__main__":
    enter_namespace()
    make_network()
    with tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as place:
        if sys.argv[1:2] == ["--life"]:
            live(place, int(sys.argv[2]))
        else:
            (pathlib.Path(place) / "a").mkdir()
            measure_pushes(pathlib.Path(place) / "a")
            (pathlib.Path(place) / "b").mkdir()
            measure_many(pathlib.Path(place) / "b", int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
