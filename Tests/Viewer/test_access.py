#!/usr/bin/env python3
"""Access to the viewer, for reading and changing preferences, and how long it runs. Run by `.ci/viewer`."""

from __future__ import annotations

import json
import os
import plistlib
import select
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from viewer import PROGRAMS, Client, Session, eventually


# `defaults view` demands it of root.
AS_ROOT = ["--allow-root"] if os.getuid() == 0 else []


class AccessTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="viewer-", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.session = Session(self.root)
        self.addCleanup(self.session.end)

    def client(self, *options: str) -> Client:
        client = Client(self.session.start(*options))
        self.assertEqual(client.enter(), 200)
        return client

    def test_only_loopback(self) -> None:
        client = self.client()
        listening = [
            line.split()[1]
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(f":{client.port:04X}")
        ]
        self.assertEqual(listening, [f"0100007F:{client.port:04X}"])
        self.assertNotEqual(Client(self.session.start()).port, client.port)

    def test_token_works_once(self) -> None:
        client = Client(self.session.start())
        wrong = client.entrance[:-1] + ("0" if client.entrance[-1] != "0" else "1")
        self.assertEqual(client.request("GET", wrong)[0], 403)
        status, headers, text = client.request("GET", client.entrance)
        self.assertEqual(status, 200)
        self.assertRegex(
            headers["set-cookie"],
            rf"^defaults-viewer=[0-9a-f]{{64}}; HttpOnly; SameSite=Strict; Path={client.base}/$")
        self.assertNotIn(headers["set-cookie"].split("=")[1].split(";")[0], text)
        status, headers, _ = client.request("GET", client.entrance)
        self.assertEqual((status, headers.get("set-cookie")), (403, None))

    def test_token_is_in_no_command_line(self) -> None:
        browser = self.root / "xdg-open"
        browser.write_text(f"#!/bin/sh\ncp \"$1\" {self.root}/opened\necho \"$1\" >{self.root}/path\nexec sleep 60\n")
        browser.chmod(0o755)
        self.session.environment["PATH"] = f"{self.root}:{self.session.environment['PATH']}"
        viewer = subprocess.Popen([PROGRAMS / "defaults", "view", *AS_ROOT], env=self.session.environment)
        self.addCleanup(viewer.wait, 10)
        self.addCleanup(viewer.terminate)
        name = eventually(lambda: (self.root / "path").exists() and (self.root / "path").read_text(), "no browser")
        page = Path(name.strip())
        self.assertEqual(page.parent, self.session.agent.runtime)
        self.assertEqual(stat.S_IMODE(page.stat().st_mode), 0o600)
        client = Client((self.root / "opened").read_text().split("url=")[1].split('"')[0])
        token = client.entrance.split("=")[1]
        for process in Path("/proc").glob("[0-9]*"):
            for file in ("cmdline", "environ"):
                try:
                    self.assertNotIn(token.encode(), (process / file).read_bytes(), process)
                except OSError:
                    continue
        self.assertEqual(client.enter(), 200)
        eventually(lambda: not page.exists(), "the file with the token stays")

    def test_help_without_a_browser(self) -> None:
        # A browser that can't be started, and one that shows nothing.
        for script in ("exit 3", "exit 0"):
            with self.subTest(script=script):
                browser = self.root / "xdg-open"
                browser.write_text(f"#!/bin/sh\n{script}\n")
                browser.chmod(0o755)
                environment = self.session.environment | {"PATH": f"{self.root}:{self.session.environment['PATH']}"}
                viewer = subprocess.Popen(
                    [PROGRAMS / "defaults", "view", *AS_ROOT], env=environment, stderr=subprocess.PIPE, text=True)
                self.addCleanup(viewer.wait, 10)
                self.addCleanup(viewer.terminate)
                assert viewer.stderr is not None
                self.addCleanup(viewer.stderr.close)
                self.assertIn("run `defaults view --print-url`", viewer.stderr.readline())

    def test_others_are_refused(self) -> None:
        client = self.client()
        own = {"type": "read", "domain": "org.example.a"}
        self.assertEqual(client.request("GET", "/")[0], 200)
        self.assertEqual(client.request("POST", "/ask", own)[0], 200)
        refused: list[tuple[str, str, dict[str, str | None]]] = [
            ("GET", "/", {"Cookie": None}),
            ("GET", "/viewer.js", {"Cookie": None}),
            ("GET", "/events", {"Cookie": f"defaults-viewer={'0' * 64}"}),
            ("GET", "/", {"Host": "example.org"}),
            ("GET", "/", {"Host": f"localhost.example.org:{client.port}"}),
            ("GET", "/", {"Host": f"localhost:{client.port}.example.org"}),
            ("GET", "/", {"Host": f"127.0.0.1@example.org:{client.port}"}),
            ("GET", "/", {"Host": None}),
            ("GET", client.entrance, {"Host": "example.org"}),
            ("GET", "/events", {"Origin": "https://example.org"}),
            ("POST", "/ask", {"Origin": "https://example.org"}),
            ("POST", "/ask", {"Origin": "null"}),
            ("POST", "/ask", {"Origin": None}),
            # A page of another port of this machine.
            ("POST", "/ask", {"Origin": f"http://127.0.0.1:{client.port - 1}"}),
            ("POST", "/ask", {"Origin": f"http://localhost:{client.port}"}),
            ("POST", "/run", {"Cookie": None}),
        ]
        for method, path, headers in refused:
            with self.subTest(method=method, path=path, headers=headers):
                status, answered, _ = client.request(method, path, own if method == "POST" else None, headers)
                # HTTP itself demands a host.
                self.assertIn(status, [403, 400] if headers.get("Host", "") is None else [403])
                self.assertNotIn("set-cookie", answered)
                # It proves who answers, so only the page gets it.
                self.assertNotIn("viewer", answered)
        # The cookie alone isn't enough.
        base, client.base = client.base, ""
        self.assertEqual(client.request("GET", "/")[0], 403)
        client.base = base
        self.assertEqual(client.request("POST", "/ask", own, {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(client.request("POST", "/ask", own, {"Content-Type": None})[0], 415)

    def test_forwarded_port(self) -> None:
        client = self.client()
        for host in ("localhost:8080", "127.0.0.1:8080", "[::1]:80", "localhost"):
            with self.subTest(host=host):
                fields: dict[str, str | None] = {"Host": host, "Origin": f"http://{host}"}
                self.assertEqual(client.request("POST", "/ask", {"type": "status"}, fields)[0], 200)
        # Any other address is refused, and the person is told what to do.
        status, headers, text = client.request("GET", "/", headers={"Host": "machine.lan:8080", "Accept": "text/html"})
        self.assertEqual((status, headers["content-type"]), (403, "text/html; charset=utf-8"))
        self.assertIn("<code>ssh -L PORT:127.0.0.1:PORT HOST</code>", text)

    def test_only_edits_have_bodies(self) -> None:
        client = self.client()
        for path in ("/enter?token=x", "/", "/events"):
            for field in ("Content-Length: 60000000", "Transfer-Encoding: chunked"):
                with self.subTest(path=path, field=field):
                    connection = socket.create_connection(("127.0.0.1", client.port), timeout=30)
                    connection.sendall(
                        f"GET {client.base}{path} HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\n"
                        f"{field}\r\n\r\n".encode())
                    self.assertIn(b" 400 ", connection.recv(100))
                    connection.close()

    def test_older_version_of_http(self) -> None:
        client = self.client()
        for path in ("/", "/events"):
            with self.subTest(path=path):
                connection = socket.create_connection(("127.0.0.1", client.port), timeout=30)
                connection.sendall(
                    f"GET {client.base}{path} HTTP/1.0\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\n\r\n"
                    .encode())
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(1)
                self.assertTrue(head.startswith(b"HTTP/1.0 200 "), head)
                self.assertNotIn(b"chunked", head.lower())
                connection.close()

    def test_unread_events_are_bounded(self) -> None:
        client = self.client()
        stream = client.follow()
        data = b""
        while b"bookmark" not in data:
            data += stream.recv(1 << 16)
        before = self.session.memory()
        # Each value is an event of this size, and several times as many bytes as may wait come.
        for number in range(80):
            value = f"{number} " + "x" * (1 << 20)
            self.assertEqual(client.ask(type="edit", domain="org.example.large", set={"key": value})[0], 200)
        self.assertLess(self.session.memory() - before, 50)
        # Nothing is missing once the page reads.
        data = b""
        while b'"79 x' not in data:
            data = data[-100:] + stream.recv(1 << 20)
        stream.close()

    def test_large_values_arrive_although_they_exceed_the_bound(self) -> None:
        for number in range(3):
            (self.session.agent.directory / f"org.example.large{number}.plist").write_bytes(
                plistlib.dumps({"key": f"{number} " + "x" * (7 << 20)}))
        self.session.run("sync")
        client = self.client()
        stream = client.follow()
        data, found = b"", set()
        while b'"bookmark"' not in data:
            data = data[-100:] + stream.recv(1 << 20)
            found |= {number for number in range(3) if f'"{number} x'.encode() in data}
        self.assertEqual(found, {0, 1, 2})
        stream.close()

    def test_names_that_are_no_arguments(self) -> None:
        self.session.run("write", "org.example.a", "key", "-string", "value")
        client = self.client()
        for verb in ("explain", "describe", "log"):
            request = {"verb": verb, "domain": "org.example.a", "count": 1, "program": "", "since": "", "until": ""}
            for key, problem in {
                "key\0other": "A domain or key whose name has a NUL can't be looked up.",
                "k" * 200_000: "A name of 128 kB or more can't be looked up.",
            }.items():
                _, _, text = client.request("POST", "/run", {**request, "key": key})
                self.assertEqual(json.loads(text), {"status": 64, "output": "", "errors": problem})
            self.assertEqual(client.request("POST", "/run", {**request, "key": "k" * 100_000})[0], 200)

    def test_every_file_of_the_page_is_served_as_it_is(self) -> None:
        client = self.client()
        files = Path(__file__).parents[2] / "Sources/defaults-viewer/Page"
        for file in files.iterdir():
            with self.subTest(file=file.name):
                path = "/" if file.name == "index.html" else f"/{file.name}"
                status, _, text = client.request("GET", path)
                self.assertEqual((status, text), (200, file.read_text(encoding="utf-8")))

    def test_no_other_page_may_read(self) -> None:
        client = self.client()
        origin: dict[str, str | None] = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
        status, headers, _ = client.request("OPTIONS", "/ask", headers=origin)
        self.assertEqual(status, 403)
        self.assertEqual(client.request("PUT", "/ask", {}, {"Origin": f"http://{client.host}"})[0], 405)
        status, headers, _ = client.request("GET", "/")
        self.assertFalse([name for name in headers if name.startswith("access-control")])
        self.assertEqual(
            headers["content-security-policy"],
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
        for name, value in {
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cache-control": "no-store",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
        }.items():
            self.assertEqual(headers[name], value)

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_other_users_are_refused(self) -> None:
        client = self.client()
        self.assertEqual(client.ask(type="edit", domain="org.example.a", set={"key": "own"})[0], 200)
        # Browsers send the cookie to all ports of the host, so another user may get it.
        code = (
            "import http.client, sys\n"
            f"c = http.client.HTTPConnection('127.0.0.1', {client.port}, timeout=20)\n"
            "edit = '{\"type\":\"edit\",\"domain\":\"org.example.a\",\"set\":{\"key\":\"stolen\"}}'\n"
            f"fields = {{'Cookie': '{client.cookie}', 'Content-Type': 'application/json',"
            f" 'Origin': 'http://{client.host}', 'Host': '{client.host}'}}\n"
            "c.request('POST', '/ask', edit, fields); print(c.getresponse().status)"
        )
        outcome = subprocess.run(["/usr/bin/python3", "-c", code], user=65534, capture_output=True, text=True, cwd="/")
        self.assertEqual(outcome.stdout.strip(), "403", outcome.stderr)
        self.assertEqual(self.session.run("read", "org.example.a", "key").strip(), "own")
        # For a socket that was closed, the kernel has only a stand-in, which seems to be root's.
        edit = '{"type":"edit","domain":"org.example.a","set":{"key":"stolen"}}'
        request = (
            f"POST {client.base}/ask HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            f"Cookie: {client.cookie}\r\nContent-Type: application/json\r\nContent-Length: {len(edit)}\r\n\r\n{edit}")
        code = (
            "import socket\n"
            "for _ in range(300):\n"
            "    s = socket.socket()\n"
            f"    s.connect(('127.0.0.1', {client.port}))\n"
            "    try:\n"
            f"        s.send({request.encode()!r})\n"
            "    except OSError:\n"
            "        pass\n"
            "    s.close()\n"
        )
        subprocess.run(["/usr/bin/python3", "-c", code], user=65534, check=True, cwd="/")
        # It answers connections in their order, so all of these have been looked at.
        self.assertEqual(client.ask(type="status")[0], 200)
        self.assertEqual(self.session.run("read", "org.example.a", "key").strip(), "own")
        # This user may also have a socket for IPv6.
        mapped = socket.create_connection(("::ffff:127.0.0.1", client.port))
        mapped.sendall(f"GET {client.base}/icon.svg HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\n\r\n".encode())
        self.assertIn(b" 200 ", mapped.recv(100))
        mapped.close()

    @unittest.skipUnless(os.getuid() == 0, "only root is refused")
    def test_root_must_ask_for_it(self) -> None:
        outcome = subprocess.run(
            [PROGRAMS / "defaults", "view", "--print-url"], env=self.session.environment, capture_output=True,
            text=True, timeout=20)
        self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
        self.assertIn("add --allow-root", outcome.stderr)

    def test_read_only(self) -> None:
        self.session.run("write", "org.example.a", "key", "-string", "before")
        client = self.client("--read-only")
        self.assertEqual(client.ask(type="edit", domain="org.example.a", set={"key": "after"})[0], 403)
        self.assertEqual(client.request("POST", "/run", {"verb": "undo", "number": 1, "dryRun": False})[0], 403)
        status, _, text = client.request("POST", "/run", {"verb": "undo", "number": 1, "dryRun": True})
        self.assertEqual(status, 200)
        self.assertIn("before", text)
        # The bridge reads lines, and this text has several.
        smuggled = b'{"type":"read","domain":"a","keys":[\n{"request":77,"type":"edit","domain":"org.example.a",' \
            b'"set":{"key":"smuggled"}}\n]}'
        client.request("POST", "/ask", smuggled)
        self.assertEqual(client.request("POST", "/ask", b'{"type":\n"read",\n"domain":"a"}')[0], 200)
        self.assertEqual(self.session.run("read", "org.example.a", "key").strip(), "before")

    def test_only_known_requests(self) -> None:
        client = self.client()
        for request in (
            {"type": "handOver"}, {"type": "subscribe"}, {"type": "read", "request": 1, "domain": "a"}, {}, [1], b"{",
            b"", b'{"type":"read"}\n{"type":"status"}',
        ):
            with self.subTest(request=request):
                status, _, text = client.request("POST", "/ask", request)
                self.assertEqual(status, 400, text)
        for request in ({"verb": "write"}, {"verb": "read", "domain": "a"}, {"verb": "undo", "number": "1"}, {}):
            with self.subTest(request=request):
                self.assertEqual(client.request("POST", "/run", request)[0], 400)
        # A name may look like an option.
        _, _, text = client.request("POST", "/run", {"verb": "explain", "domain": "--help", "key": "-x"})
        self.assertIn('No layer of --help has the key', text)
        self.assertEqual(client.request("GET", "/../etc/passwd")[0], 404)
        # A failure of the agent is its answer.
        status, text = client.ask(type="read", domain="")
        self.assertEqual(status, 200)
        self.assertIn('"code":"invalidDomainName"', text)

    def test_limits(self) -> None:
        client = self.client()
        slow = socket.create_connection(("127.0.0.1", client.port))
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        begin = time.monotonic()
        large = b'{"type":"edit","domain":"org.example.a","set":{"key":"' + b"x" * (64 << 20) + b'"}}'
        self.assertEqual(client.request("POST", "/ask", large)[0], 413)
        value = "x" * (20 << 20)
        self.assertEqual(client.ask(type="edit", domain="org.example.a", set={"key": value})[0], 200)
        many = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(80)]
        # A connection that is closed is readable, and the others send nothing yet.
        eventually(lambda: len(select.select(many, [], [], 0)[0]) == 80 - 63, "the limit isn't 64")
        for connection in many:
            connection.close()
        eventually(lambda: answers(client), "the viewer doesn't recover")
        slow.settimeout(60)
        self.assertEqual(slow.recv(1), b"")
        self.assertGreater(time.monotonic() - begin, 5)
        slow.close()

    def test_end(self) -> None:
        client = self.client("--end-after", "1")
        stream = client.follow()
        data = b""
        while b"bookmark" not in data:
            data += stream.recv(1 << 16)
        with self.assertRaises(subprocess.TimeoutExpired, msg="it ended although a page is open"):
            self.session.viewer.wait(2)
        bridge = self.session.bridge()
        stream.close()
        self.assertEqual(self.session.viewer.wait(10), 0)
        eventually(lambda: not Path(f"/proc/{bridge}").exists(), "the bridge goes on")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            client = self.client()
            stream = client.follow()
            stream.recv(1)
            self.session.viewer.send_signal(number)
            self.assertEqual(self.session.viewer.wait(3), 0)
            stream.close()

    def test_without_agent(self) -> None:
        """If no agent can run, every answer says so, and the next one tries again."""
        self.session.agent.stop()
        self.session.environment["DEFAULTS_DIRECTORY"] = "/dev/null/none"
        client = self.client()
        status, text = client.ask(type="status")
        self.assertEqual(status, 502)
        self.assertIn("defaults doctor", text)
        self.assertEqual(client.ask(type="status")[0], 502)


def answers(client: Client) -> bool:
    try:
        return client.request("GET", "/icon.svg")[0] == 200
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
