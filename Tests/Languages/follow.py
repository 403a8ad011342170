import json

from gi.repository import Gio, GLib

def follow(domain, show):
    """Call `show` with each key of a domain and its value, now and after each change."""
    bridge = Gio.Subprocess.new(
        ["defaults", "bridge"], Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE)
    request = {"request": 1, "type": "subscribe", "from": "snapshot", "mode": "latest", "domains": [domain]}
    bridge.get_stdin_pipe().write_all(json.dumps(request).encode() + b"\n")

    def receive(lines, result):
        line, _ = lines.read_line_finish_utf8(result)
        if line is None:
            return
        message = json.loads(line)
        if message["type"] == "initial":
            for key, value in message["values"].items():
                show(key, value)
        elif message["type"] == "change":
            for change in message["changes"]:
                show(change["key"], change.get("new"))
        lines.read_line_async(GLib.PRIORITY_DEFAULT, None, receive)

    lines = Gio.DataInputStream.new(bridge.get_stdout_pipe())
    lines.read_line_async(GLib.PRIORITY_DEFAULT, None, receive)
    return bridge

bridge = follow("org.example.editor", lambda key, value: print(key, "=", json.dumps(value), flush=True))
GLib.MainLoop().run()
