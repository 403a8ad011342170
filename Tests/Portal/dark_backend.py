"""A backend of the settings portal, beside ours, for a desktop that is dark."""

from __future__ import annotations

from typing import Any

from gi.repository import Gio, GLib

NAME = "org.freedesktop.impl.portal.desktop.dark"
INTERFACE = """<node><interface name="org.freedesktop.impl.portal.Settings">
<method name="Read"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/></method>
<method name="ReadAll"><arg type="as" direction="in"/><arg type="a{sa{sv}}" direction="out"/></method>
<property name="version" type="u" access="read"/>
</interface></node>"""


def answer(*call: Any) -> None:
    method, parameters, invocation = call[4:7]
    if method == "ReadAll":
        settings = {"org.freedesktop.appearance": {"color-scheme": GLib.Variant("u", 1)}}
        invocation.return_value(GLib.Variant("(a{sa{sv}})", (settings,)))
    elif parameters.unpack() == ("org.freedesktop.appearance", "color-scheme"):
        invocation.return_value(GLib.Variant("(v)", (GLib.Variant("u", 1),)))
    else:
        invocation.return_dbus_error("org.freedesktop.portal.Error.NotFound", "There is no such setting.")


def show_version(*_: Any) -> GLib.Variant:
    return GLib.Variant("u", 1)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
interface = Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0]
bus.register_object("/org/freedesktop/portal/desktop", interface, answer, show_version, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, None, None)
GLib.MainLoop().run()
