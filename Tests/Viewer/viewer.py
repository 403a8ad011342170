"""A viewer beside an agent of its own, and a browser, for the tests and the figures."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable

from defaultsd.testing import Agent

PROGRAMS = Path(os.environ["DEFAULTSD_PROGRAMS"])


def eventually(condition: Callable[[], Any], complaint: str, seconds: float = 30) -> Any:
    """Wait until a condition holds, and return its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, complaint
        time.sleep(0.01)
    return value


class Session:
    """An agent, and the viewer that shows its preferences."""

    def __init__(self, root: Path) -> None:
        self.agent = Agent(root)
        self.manifests = root / "data/defaultsd/manifests"
        self.agent.environment |= {"XDG_DATA_HOME": f"{root}/data", "XDG_STATE_HOME": f"{root}/state"}
        self.agent.start()
        self.environment = {**self.agent.environment, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        self.viewers: list[subprocess.Popen[str]] = []

    def start(self, *options: str) -> str:
        """Start the viewer, and return the address that works once."""
        command = [PROGRAMS / "defaults-viewer", "--command", PROGRAMS / "defaults", "--print-url", *options]
        viewer = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.viewers.append(viewer)
        assert viewer.stdout is not None
        return viewer.stdout.readline().strip()

    @property
    def viewer(self) -> subprocess.Popen[str]:
        return self.viewers[-1]

    def run(self, *arguments: str) -> str:
        command = [str(PROGRAMS / "defaults"), *arguments]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def memory(self) -> float:
        """Return the viewer's memory in megabytes."""
        text = Path(f"/proc/{self.viewer.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1000

    def bridge(self) -> int | None:
        """Return the process ID of the viewer's bridge."""
        children = Path(f"/proc/{self.viewer.pid}/task/{self.viewer.pid}/children")
        found = [int(child) for path in children.parent.parent.glob("*/children") for child in path.read_text().split()]
        return found[0] if found else None

    def end(self) -> None:
        for viewer in self.viewers:
            if viewer.poll() is None:
                viewer.send_signal(signal.SIGTERM)
            viewer.wait(10)
            assert viewer.stdout is not None
            viewer.stdout.close()
        self.agent.stop()
        self.agent.close()


class Client:
    """A program that talks to the viewer without a browser."""

    def __init__(self, address: str) -> None:
        self.host = address.split("/")[2]
        self.port = int(self.host.split(":")[1])
        self.entrance = address[len(f"http://{self.host}") :]
        # The secret path below which everything is.
        self.base = self.entrance[: self.entrance.rindex("/")]
        self.cookie = ""

    def enter(self) -> int:
        status, headers, _ = self.request("GET", self.entrance)
        self.cookie = headers.get("set-cookie", "").split(";")[0]
        return status

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str | None] | None = None
    ) -> tuple[int, dict[str, str], str]:
        """Make a request as the page would, except for some header fields, and return the answer."""
        fields: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        if method == "POST":
            fields |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        path = path if path.startswith(f"{self.base}/") else self.base + path
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            fields["Content-Length"] = str(len(data))
        for name, value in (fields | (headers or {})).items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def follow(self) -> socket.socket:
        """Begin to follow the stream of events."""
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        stream.sendall(
            f"GET {self.base}/events HTTP/1.1\r\nHost: {self.host}\r\nCookie: {self.cookie}\r\n\r\n".encode())
        return stream

    def ask(self, **request: Any) -> tuple[int, str]:
        status, _, text = self.request("POST", "/ask", request)
        return status, text


class Squatter:
    """Another program's server on a port, which claims to be a viewer, and has a cookie for every client."""

    def __init__(self, port: int) -> None:
        self.count = 0
        self.received: list[bytes] = []
        self.cookies: list[str | None] = []
        squatter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                squatter.count += 1
                squatter.cookies.append(self.headers.get("Cookie"))
                self.answer(
                    b'event: begin\ndata: {"readOnly":false}\n\nid: 0:1\ndata: {"type":"bookmark","cursor":"0:1"}\n\n',
                    "text/event-stream")

            def do_POST(self) -> None:
                squatter.count += 1
                squatter.received.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(b'{"type":"edited","cursor":"0:2"}', "application/json")

            def answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Set-Cookie", "defaults-viewer=other; Path=/")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Relay:
    """A port of its own, whose connections lead to another."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError

    def join(self, client: socket.socket, server: socket.socket) -> None:
        """Relay in both directions until one end is closed."""
        threading.Thread(target=relay, args=[client, server], daemon=True).start()
        relay(server, client)

    def end(self) -> None:
        self.listener.close()


class Forward(Relay):
    """Another port that leads to the viewer's, as `ssh -L` makes it."""

    def __init__(self, target: int) -> None:
        self.target = target
        super().__init__()

    def serve(self, client: socket.socket) -> None:
        self.join(client, socket.create_connection(("127.0.0.1", self.target)))


class Tunnel(Relay):
    """A SOCKS5 proxy, whose connections a test can cut (RFC 1928)."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        super().__init__()

    def serve(self, client: socket.socket) -> None:
        try:
            client.recv(client.recv(2, socket.MSG_WAITALL)[1], socket.MSG_WAITALL)
            client.sendall(b"\x05\x00")
            kind = client.recv(4, socket.MSG_WAITALL)[3]
            length = {1: 4, 4: 16}.get(kind) or client.recv(1)[0]
            host = client.recv(length, socket.MSG_WAITALL)
            port = int.from_bytes(client.recv(2, socket.MSG_WAITALL), "big")
            name = host.decode() if kind == 3 else socket.inet_ntop({1: socket.AF_INET, 4: socket.AF_INET6}[kind], host)
            server = socket.create_connection((name, port))
            client.sendall(b"\x05\x00\x00\x01" + bytes(6))
        except (OSError, IndexError, KeyError):
            client.close()
            return
        self.sockets += [client, server]
        self.join(client, server)

    def cut(self) -> None:
        for end in self.sockets:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets = []


def relay(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
