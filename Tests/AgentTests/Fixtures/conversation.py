"""Sends the frames of a recorded conversation to an agent, and compares its messages with the recorded ones.

protocol1.json has the bytes that a client of version 0.2.0 sent in version 1 of the protocol; protocol2.json those of
Python's plistlib in version 2. In the messages, "*" stands for any value, and an agent may add
entries.
"""
import json
import plistlib
import socket
import struct
import sys

path, conversation = sys.argv[1:]
agent = socket.socket(socket.AF_UNIX)
agent.settimeout(60)
agent.connect(path)


def receive():
    def exactly(count):
        data = b""
        while len(data) < count:
            part = agent.recv(count - len(data))
            if not part:
                sys.exit("The agent closed the connection.")
            data += part
        return data

    return plistlib.loads(exactly(struct.unpack(">I", exactly(4))[0]))


def as_json(value):
    if isinstance(value, bytes):
        return {"data": value.hex()}
    if hasattr(value, "isoformat"):
        return {"date": value.isoformat() + "Z"}
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def matches(expected, value, may_have_more=True):
    if expected == "*":
        return True
    if type(expected) is not type(value):
        return False
    if isinstance(expected, dict):
        return (may_have_more or expected.keys() == value.keys()) and all(
            key in value and matches(item, value[key], key != "values") for key, item in expected.items()
        )
    if isinstance(expected, list):
        return len(expected) == len(value) and all(map(matches, expected, value))
    return expected == value


for step in json.load(open(conversation)):
    agent.sendall(bytes.fromhex("".join(step["frame"])))
    for expected in step["messages"]:
        message = as_json(receive())
        if not matches(expected, message):
            sys.exit(f"{step['request']}:\n  expected {expected}\n  received {message}")

# Nothing else has arrived.
agent.settimeout(0)
try:
    sys.exit(f"The agent sent {len(agent.recv(65536))} more bytes.")
except BlockingIOError:
    pass
