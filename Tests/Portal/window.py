"""A window with libadwaita, which prints whether it is dark, now and after each change."""

import gi

gi.require_version("Adw", "1")
from gi.repository import Adw  # noqa: E402


def activate(app: Adw.Application) -> None:
    Adw.ApplicationWindow(application=app, title="Preferences").present()
    manager = Adw.StyleManager.get_default()
    manager.connect("notify::dark", show)
    show(manager)


def show(manager: Adw.StyleManager, *_: object) -> None:
    print("dark" if manager.get_dark() else "light", flush=True)


app = Adw.Application(application_id="org.example.window")
app.connect("activate", activate)
app.run()
