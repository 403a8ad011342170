"""Measures a fleet on etcd: the time of a push, beside etcd's own; a thousand machines; bytes and memory.

With an argument, the number of machines instead of a thousand. With --life COUNT, lives a life of many sessions
instead, most of which are killed. With --subscribers COUNT, measures an agent with so many connections that each follow
a domain."""

import base64
import http.client
import json
import math
import os
import pathlib
import plistlib
import random
import resource
import select
import signal
import socket
import ssl
import statistics
import struct
import sys
import tempfile
import time

from cluster import NETWORK, Cluster, Receiver, enter_namespace, make_network
from figures import DOMAIN, delays, memory, size
from machines import PROGRAMS, Machine, await_true


def percentiles(title, times):
    times = sorted(times)
    most = times[math.ceil(len(times) * 0.99) - 1]
    print(f"{title}: p50 {statistics.median(times):.1f} ms, p99 {most:.1f} ms, worst {times[-1]:.1f} ms of "
          f"{len(times)}", flush=True)


def settled(receiver):
    """The time at which a machine's file was last replaced, in seconds."""
    path = receiver.managed / f"{DOMAIN}.plist"
    # The file was written before; its renaming changes its status.
    return path.stat().st_ctime if path.exists() else 0


def processor_time(processes):
    """The time that processes have used the processor, in seconds."""
    ticks = 0
    for process in processes:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def database(cluster):
    """The size of a member's database in bytes, with what is kept for machines that were away."""
    status = cluster.etcdctl("endpoint", "status", "--write-out=json", number=1)
    return json.loads(status.stdout)[0]["Status"]["dbSizeInUse"]


def measure_etcd(place):
    """Times from a put to its event, by etcd's own gateway, which works without access control only."""
    cluster = Cluster(place)
    cluster.configure(enable_grpc_gateway="true")
    for number in cluster.numbers:
        cluster.start(number)
    await_true(lambda: cluster.etcdctl("endpoint", "health", number=1, check=False).returncode == 0, "etcd")
    context = ssl.create_default_context(cafile=f"{cluster.place}/authority.pem")
    context.load_cert_chain(f"{cluster.place}/root.pem", f"{cluster.place}/root-key.pem")
    puts, watch = (http.client.HTTPSConnection(f"{NETWORK}.1", 2379, context=context) for _ in range(2))
    text = lambda value: base64.b64encode(value.encode()).decode()
    watch.request("POST", "/v3/watch", json.dumps({"create_request": {"key": text("probe")}}))
    events = watch.getresponse()
    events.readline()
    times = []
    for number in range(200):
        start = time.monotonic()
        puts.request("POST", "/v3/kv/put", json.dumps({"key": text("probe"), "value": text(f"{number:0350}")}))
        events.readline()
        times.append((time.monotonic() - start) * 1000)
        puts.getresponse().read()
    percentiles("etcd's own, from a put of 350 bytes to its event, three members", times)
    cluster.end()


def measure_pushes(place):
    cluster = Cluster(place)
    cluster.begin()
    receiver = Receiver(cluster, "one", "web")
    receiver.start()
    await_true(cluster.machines, "a report")
    times = []
    for number in range(100):
        start = time.time()
        cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
        await_true(lambda: receiver.values(DOMAIN).get("k") == number, "the value")
        times.append((settled(receiver) - start) * 1000)
    percentiles("from the start of the command that pushes to the file on a machine, three members", times)
    resident, private = memory(receiver.process)
    print(f"a machine at rest: {resident:.0f} MB, {private:.1f} MB its own", flush=True)
    # A day away.
    receiver.stop()
    start, before = time.monotonic(), database(cluster)
    for number in range(100):
        keys = " ".join(f"key{index} = <*I{number}>;" for index in range(100))
        cluster.push("--to", "web", DOMAIN, "{" + keys + "}")
    print(f"10,000 edits in pushes of 100: {time.monotonic() - start:.1f} s, "
          f"{(database(cluster) - before) / 10_000:.0f} bytes each in etcd's database, with a day's history", flush=True)
    start = time.monotonic()
    receiver.start()
    await_true(lambda: receiver.values(DOMAIN).get("key99") == 99, "the values")
    print(f"a machine that was away for them has all after {time.monotonic() - start:.1f} s", flush=True)
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
        parts = (cluster.members.values(), [receiver.process for receiver in receivers])
        start, used = time.time(), [processor_time(part) for part in parts]
        rollout = cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
        cluster.rollout(rollout, "--wait", "120")
        confirmed = time.time() - start
        percentiles(f"push {number + 1}, from the start of the command to the files of {count} machines on two cores",
                    [(settled(receiver) - start) * 1000 for receiver in receivers])
        etcd, machines = (processor_time(part) - before for part, before in zip(parts, used))
        print(f"all have confirmed it after {confirmed:.1f} s; etcd has used {etcd:.1f} s of the processors, the "
              f"machines {machines:.1f} s", flush=True)
    # The machines share the processors with each other and with etcd, unlike those of a service. While most of them are
    # stopped, etcd sends as much as before.
    active = receivers[::10]
    stopped = [receiver.process for receiver in receivers if receiver not in active]
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    start = time.time()
    try:
        cluster.push("--to", "web", DOMAIN, "k", "-int", "77")
        await_true(lambda: all(receiver.values(DOMAIN).get("k") == 77 for receiver in active), "the value")
    finally:
        for process in stopped:
            process.send_signal(signal.SIGCONT)
    percentiles(f"the same, with {len(stopped)} of them stopped",
                [(settled(receiver) - start) * 1000 for receiver in active])
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
    flat = Flat()
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
            for name, figure in [("start", statistics.median(starts[-50:])), ("state", sizes), ("files", names),
                                 ("memory", private), ("log", len(receiver.complaints) + 1)]:
                flat.add(name, figure)
    flat.check()
    cluster.end()


class Flat:
    """The figures of a life, which must not grow."""

    def __init__(self):
        self.figures = {}

    def add(self, name, figure):
        self.figures.setdefault(name, []).append(figure)

    def check(self):
        for name, figures in self.figures.items():
            third = len(figures) // 3
            if third == 0:
                continue
            early, late = statistics.median(figures[:third]), statistics.median(figures[-third:])
            assert late <= 1.5 * early, f"{name} has grown from {early:.1f} to {late:.1f}"


def measure_subscribers(place, count):
    """An agent with many followers, each of which has a connection of its own, as machines behind a relay would."""
    # The agent keeps a part of its files for other things than connections.
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count,) * 2)
    machine = Machine(place, "relay")
    directory = pathlib.Path(machine.status_of_agent()["directory"])
    machine.stop_agent()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "org.defaultsd.agent.plist").write_bytes(plistlib.dumps({"MaximumConnections": 2 * count}))
    machine.start_agent()
    path = machine.status_of_agent()["socket"]
    before = memory(machine.agent)[1]
    ready, sockets = select.epoll(), {}
    for number in range(count):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        for request in ({"request": 1, "type": "hello", "protocol": 2, "client": "figures"},
                        {"request": 2, "type": "subscribe", "from": "now", "mode": "everything", "domains": [DOMAIN]}):
            body = plistlib.dumps(request, fmt=plistlib.FMT_BINARY)
            connection.sendall(struct.pack(">I", len(body)) + body)
            size = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))[0]
            answer = plistlib.loads(connection.recv(size, socket.MSG_WAITALL))
            assert answer["type"] in ("welcome", "subscribed"), answer
        ready.register(connection, select.EPOLLIN)
        sockets[connection.fileno()] = connection
    print(f"an agent with {count} subscribers: {(memory(machine.agent)[1] - before) * 1000 / count:.1f} kB for each",
          flush=True)
    for number in range(10):
        used, start = processor_time([machine.agent]), time.monotonic()
        command = machine.begin("write", DOMAIN, "k", f"value {number}")
        waiting = set(sockets)
        while waiting:
            for descriptor, _ in ready.poll(60):
                if f"value {number}".encode() in sockets[descriptor].recv(1 << 16):
                    waiting.discard(descriptor)
        took = time.monotonic() - start
        command.wait()
        print(f"all have a change {took * 1000:.0f} ms after the command starts; the agent has used "
              f"{(processor_time([machine.agent]) - used) * 1000:.0f} ms", flush=True)
    machine.end()


if __name__ == "__main__":
    enter_namespace()
    make_network()
    with tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as place:
        if "--subscribers" in sys.argv:
            measure_subscribers(pathlib.Path(place), int(sys.argv[-1]))
        elif "--life" in sys.argv:
            count = int(sys.argv[sys.argv.index("--life") + 1])
            live(pathlib.Path(place), count)
        else:
            count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
            for measure in (measure_etcd, measure_pushes, lambda place: measure_many(place, count)):
                with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as own:
                    measure(pathlib.Path(own))
