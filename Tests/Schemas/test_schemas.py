"""Bulk imports of schemas, each compared with what an independent reader finds in them.

GLib itself reads the schemas of GSettings: those that are installed, and those in `gsettings`. A few rules of KConfig's
compiler, written here anew, read those in `kcfg`. What a manifest can't say is named with its reason; anything else
that differs is a failure.
"""

import collections
import fnmatch
import itertools
import os
import pathlib
import plistlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from gi.repository import Gio

DEFAULTS = pathlib.Path(os.environ["DEFAULTSD_PROGRAMS"]) / "defaults"
SCHEMAS = pathlib.Path(os.environ.get("SCHEMAS", "/usr/share/glib-2.0/schemas"))
HERE = pathlib.Path(__file__).parent


class Key(collections.namedtuple("Key", "type default minimum maximum choices inner hidden scope sensitive")):
    """A key as a manifest describes it; `inner` has the elements of a list or a dictionary."""

    def __new__(cls, type, default=None, minimum=None, maximum=None, choices=None, inner=(), hidden=False,
                scope="roaming", sensitive=False):
        return super().__new__(cls, type, default, minimum, maximum, choices, inner, hidden, scope, sensitive)


def described(entry):
    """Read a key of a manifest."""
    inner = tuple((key.get("pfm_name", ""), described(key)) for key in entry.get("pfm_subkeys", []))
    return Key(
        entry["pfm_type"], entry.get("pfm_default"), entry.get("pfm_range_min"), entry.get("pfm_range_max"),
        entry.get("pfm_range_list"), inner, entry.get("pfm_hidden", False), entry.get("pfm_scope", "roaming"),
        entry.get("pfm_sensitive", False))


def is_same(one, other):
    """Compare two values, in which 1, 1.0 and true are different."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return one == other


def imported(case, files):
    """Import schemas, check the manifests that are made, and return them by domain, and the notes."""
    place = tempfile.TemporaryDirectory()
    case.addCleanup(place.cleanup)
    environment = {"HOME": place.name, "XDG_RUNTIME_DIR": place.name, "PATH": os.environ["PATH"]}
    run = dict(env=environment, capture_output=True, text=True)
    outcome = subprocess.run([DEFAULTS, "manifest", "import", "--to", place.name, *files], **run)
    case.assertEqual(outcome.returncode, 0, outcome.stderr)
    paths = sorted(pathlib.Path(place.name).glob("*.plist"))
    check = subprocess.run([DEFAULTS, "manifest", "check", *paths], **run)
    case.assertEqual((check.returncode, check.stdout), (0, ""), check.stderr)
    manifests = [plistlib.loads(path.read_bytes()) for path in paths]
    return {manifest["pfm_domain"]: manifest["pfm_subkeys"] for manifest in manifests}, outcome.stderr


def compare(case, name, found, expected, exceptions):
    """Compare keys by their paths, and print how many are equal."""
    case.assertEqual(sorted(found), sorted(expected))
    different = {path for path, key in expected.items() if not is_same(found[path], key)}
    for path in sorted(different - exceptions.keys()):
        print(f"{path}\n  expected {expected[path]}\n  found    {found[path]}")
    case.assertEqual(different - exceptions.keys(), set())
    used = {path for path in exceptions if path in expected}
    case.assertEqual(used - different, set(), "These keys are equal now.")
    print(f"{name}: {len(expected) - len(different)} of {len(expected)} keys are equal.")
    for path in sorted(used):
        print(f"  {path}: {exceptions[path]}")


# --- GSettings

# By the schema and key. A value is in GVariant's text format.
GSETTINGS_EXCEPTIONS = {
    "system.proxy.http authentication-password": "The key's name says that its values are secret.",
}

INTEGERS = {"y": (0, 2**8 - 1), "n": (-2**15, 2**15 - 1), "q": (0, 2**16 - 1), "i": (-2**31, 2**31 - 1),
            "u": (0, 2**32 - 1), "x": (None, None), "h": (None, None), "t": (0, None)}


def key_of(signature):
    """Return what a manifest says about all values of a GVariant's type."""
    key, rest = read_type(signature)
    assert rest == "", signature
    return key


def read_type(text):
    """Return the key of the first type in a signature, and the rest of it."""
    first, rest = text[0], text[1:]
    if first in INTEGERS:
        return Key("integer", minimum=INTEGERS[first][0], maximum=INTEGERS[first][1]), rest
    if first in "bdsogv":
        return Key({"b": "boolean", "d": "real", "v": "any"}.get(first, "string")), rest
    if first == "m":
        return read_type(rest)
    if first == "(":
        parts = []
        while rest[0] != ")":
            part, rest = read_type(rest)
            parts.append(("", part))
        return Key("array", minimum=len(parts), maximum=len(parts), inner=tuple(parts)), rest[1:]
    assert first == "a", text
    if rest[0] == "y":
        return Key("data"), rest[1:]
    if rest[0] == "{":
        name, rest = read_type(rest[1:])
        value, rest = read_type(rest)
        # The names that a dictionary may have, and their values, as a manifest calls them.
        return Key("dictionary", inner=(("{{key}}", name), ("{{value}}", value))), rest[1:]
    element, rest = read_type(rest)
    return Key("array", inner=(("", element),)), rest


def value_of(variant):
    """Return a GVariant's value as a property list's, or `None` for nothing."""
    signature = variant.get_type_string()
    if signature == "ay":
        return bytes(variant.unpack())
    children = []
    if variant.is_container():
        children = [variant.get_child_value(index) for index in range(variant.n_children())]
    if signature[0] in "vm":
        return value_of(children[0]) if children else None
    if signature.startswith("a{"):
        return {entry.get_child_value(0).unpack(): value_of(entry.get_child_value(1)) for entry in children}
    return [value_of(child) for child in children] if variant.is_container() else variant.unpack()


def gsettings_key(key):
    kind, limit = key.get_range().unpack()
    described = key_of(key.get_value_type().dup_string())
    if kind == "enum":
        described = described._replace(choices=list(limit))
    elif kind == "flags":
        described = described._replace(inner=(("", Key("string", choices=list(limit))),))
    elif kind == "range":
        described = described._replace(minimum=limit[0], maximum=limit[1])
    return described._replace(default=value_of(key.get_default_value()))


def domain_of(path):
    """Return the domain of a path, as GSettings' backend names it."""
    return path.strip("/").replace("%", "%25").replace(".", "%2E").replace("/", ".")


def domains_of(id, path, contained):
    """Return the domains of a schema: of its path, of the schemas that contain it, or a pattern."""
    if path:
        return [domain_of(path)]
    return sorted(map(domain_of, contained.get(id, []))) or [f"{id}*"]


def contained_in(file):
    """Return the paths at which schemas with a path contain others, by the ids of these."""
    paths = {}
    for parent in xml.etree.ElementTree.parse(file).getroot().findall("schema"):
        for child in parent.findall("child") if parent.get("path") else []:
            paths.setdefault(child.get("schema"), set()).add(f"{parent.get('path')}{child.get('name')}/")
    return paths


class GSettings(unittest.TestCase):
    def compare(self, name, schemas, compiled):
        # The compiler orders the nicks of an enumeration by its values; the manifest has the order of the schema.
        def sorted_choices(key):
            inner = tuple((name, sorted_choices(value)) for name, value in key.inner)
            return key._replace(inner=inner, choices=key.choices and sorted(key.choices))

        source = Gio.SettingsSchemaSource.new_from_directory(str(compiled), None, False)
        fixed, relocatable = source.list_schemas(False)
        contained, expected = {}, {}
        for file in sorted(schemas.glob("*.gschema.xml")):
            contained |= contained_in(file)
        noise = subprocess.check_output([DEFAULTS, "gsettings", "noise"], text=True).split()
        for id in fixed + relocatable:
            schema = source.lookup(id, False)
            for domain, name_of_key in itertools.product(
                    domains_of(id, schema.get_path(), contained), schema.list_keys()):
                key = sorted_choices(gsettings_key(schema.get_key(name_of_key)))
                if any(fnmatch.fnmatchcase(f"{domain}/{name_of_key}", pattern) for pattern in noise):
                    key = key._replace(scope="noise")
                expected[f"{domain} {name_of_key}"] = key
        manifests, _ = imported(self, sorted(schemas.glob("*.gschema.xml")))
        found = {
            f"{domain} {key['pfm_name']}": sorted_choices(described(key))
            for domain, keys in manifests.items() for key in keys}
        compare(self, f"{name} ({len(fixed) + len(relocatable)} schemas)", found, expected, GSETTINGS_EXCEPTIONS)

    def test_installed_schemas(self):
        """All installed schemas become what GLib reads in them, with the defaults of vendors."""
        self.compare("GSettings, installed", SCHEMAS, SCHEMAS)

    def test_all_types(self):
        """Schemas with all types and forms of values become what GLib reads in them."""
        schemas = HERE / "gsettings"
        with tempfile.TemporaryDirectory() as compiled:
            subprocess.run(["glib-compile-schemas", "--strict", f"--targetdir={compiled}", schemas], check=True)
            self.compare("GSettings, all types", schemas, compiled)


# --- KConfig

KCONFIG_EXCEPTIONS = {
    "editorrc View Dialog": "The default is a constructor of C++, and not a size as KConfig writes it.",
    "editorrc View Wrong": "The default isn't one of the choices.",
}
# The entries of the schemas that have no key in a manifest.
KCONFIG_LEFT_OUT = {
    "parameters Colors Rest$(n)": "The parameter has no last value.",
    "parameters $(Profile) Named": "The group is named by the program.",
}
KINDS = {"bool": "boolean", "int": "integer", "int64": "integer", "uint": "integer", "ulonglong": "integer",
         "double": "real", "stringlist": "array", "pathlist": "array", "urllist": "array", "intlist": "array"}


def number(text):
    """Read a number as the compilers of C++ do, for which 010 is 8."""
    text = text.strip()
    return int(text, 8) if re.fullmatch(r"[+-]?0[0-7]+", text) else int(text, 0)


def kconfig_value(text, kind, type, choices):
    if kind == "boolean":
        return text.strip() in ("true", "on", "yes", "1")
    if kind == "integer":
        return number(text)
    if kind == "real":
        return float(text)
    if kind == "array":
        return [number(part) if type == "intlist" else part for part in text.split(",")]
    if type == "time":
        return ",".join(str(int(part)) for part in text.split(":")) + ",0"
    if choices:
        last = text.split("::")[-1]
        return choices[int(last)] if last.isdigit() else last
    return text


def kconfig_key(entry, index, value, scope):
    def all(name):
        return entry.findall(f"{{*}}{name}")

    type = entry.get("type", "String").lower()
    kind = KINDS.get(type, "string")
    choices = [one.get("value", one.get("name")) for one in entry.findall("{*}choices/{*}choice")]
    choices = choices or [one.text for one in entry.findall("{*}values/{*}value")]
    defaults = [one for one in all("default") if one.get("param") is not None and one.get("param") in (index, value)]
    defaults = defaults or [one for one in all("default") if one.get("param") is None]
    default = None
    for one in defaults:
        text = one.text or ""
        # Only a number or a truth value in C++ is a constant for certain.
        if one.get("code") != "true" or re.fullmatch(r"[-\d.]+|true|false", text):
            default = kconfig_value(text, kind, type, choices)
    bounds = {"min": 0 if type in ("uint", "ulonglong") else None, "max": None}
    for name in bounds:
        for one in all(name):
            if one.get("code") != "true":
                bounds[name] = kconfig_value(one.text, kind, type, [])
    inner = (("", Key("integer" if type == "intlist" else "string")),) if kind == "array" else ()
    return Key(kind, default, bounds["min"], bounds["max"], choices or None, inner, entry.get("hidden") == "true",
               scope, type == "password")


def kconfig_keys(path):
    """Return the keys of a schema, each by its file, its groups and its name."""
    root = xml.etree.ElementTree.parse(path).getroot()
    file = root.find("{*}kcfgfile")
    file = {} if file is None else file.attrib
    domain = file.get("name", path.stem)
    scope = "noise" if file.get("stateConfig") == "true" else "roaming"
    keys = {}
    for group in root.findall("{*}group"):
        groups = " ".join(filter(None, [group.get("parentGroupName"), group.get("name")]))
        for entry in group.findall("{*}entry"):
            name = entry.get("key", entry.get("name"))
            parameter = entry.find("{*}parameter")
            values = [None]
            if parameter is not None:
                values = [value.text for value in parameter.findall("{*}values/{*}value")]
                values = values or list(map(str, range(int(parameter.get("max", -1)) + 1))) or [None]
            for index, value in enumerate(values):
                full = name if value is None else name.replace(f"$({parameter.get('name')})", value)
                keys[f"{domain} {groups} {full}"] = kconfig_key(entry, str(index), value, scope)
    return keys


class KConfig(unittest.TestCase):
    def test_schemas(self):
        """Schemas in the manner of KDE's own become what the rules of its compiler say."""
        files = sorted((HERE / "kcfg").glob("*.kcfg"))
        expected = {}
        for path in files:
            # The first of two descriptions of a key counts.
            expected = {**kconfig_keys(path), **expected}
        for path, reason in KCONFIG_LEFT_OUT.items():
            del expected[path]
            print(f"  {path} is left out: {reason}")
        manifests, notes = imported(self, files)

        def flat(path, keys):
            for key in keys:
                name = f"{path} {key['pfm_name']}"
                if key["pfm_type"] == "dictionary":
                    yield from flat(name, key["pfm_subkeys"])
                else:
                    yield name, described(key)

        found = {path: key for domain, keys in manifests.items() for path, key in flat(domain, keys)}
        compare(self, f"KConfig ({len(files)} schemas)", found, expected, KCONFIG_EXCEPTIONS)
        for path in [*KCONFIG_EXCEPTIONS, *KCONFIG_LEFT_OUT]:
            name = next(part for part in reversed(path.split()) if part != "Named")
            self.assertIn(f'"{name}"', notes)


if __name__ == "__main__":
    unittest.main()
