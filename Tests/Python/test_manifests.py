"""The command's output from manifests for Python: typed keys, and JSON Schemas."""

from __future__ import annotations

import json
import plistlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from defaultsd import Defaults
from defaultsd.testing import Agent

KEYS: list[dict[str, Any]] = [
    {"pfm_name": "FontSize", "pfm_type": "integer", "pfm_title": "Font size", "pfm_default": 14,
     "pfm_description": 'The "size" of text.\nIn points.', "pfm_range_min": 6, "pfm_range_max": 72},
    {"pfm_name": "Theme", "pfm_type": "string", "pfm_default": "light", "pfm_range_list": ["light", "dark"]},
    {"pfm_name": "class", "pfm_type": "string", "pfm_range_list": ["a", "b"]},
    {"pfm_name": "URLs", "pfm_type": "array", "pfm_default": [],
     "pfm_subkeys": [{"pfm_type": "string", "pfm_format": "^https?://"}]},
    {"pfm_name": "Pair", "pfm_type": "array", "pfm_range_min": 2, "pfm_range_max": 2,
     "pfm_subkeys": [{"pfm_type": "integer"}, {"pfm_type": "string"}]},
    {"pfm_name": "Proxy", "pfm_type": "dictionary", "pfm_subkeys": [
        {"pfm_name": "Host", "pfm_type": "string", "pfm_require": "always"},
        {"pfm_name": "Port", "pfm_type": "integer", "pfm_default": 8080}]},
    {"pfm_name": "Since", "pfm_type": "date"},
    {"pfm_name": "Icon", "pfm_type": "data"},
]  # fmt: skip


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "data/defaultsd/manifests/org.example.editor.plist"
    path.parent.mkdir(parents=True)
    path.write_bytes(plistlib.dumps({"pfm_domain": "org.example.editor", "pfm_subkeys": KEYS}))
    return path


def test_typed_keys(defaults_agent: Agent, manifest: Path, tmp_path: Path) -> None:
    source = defaults_agent.run("manifest", "keys", "--language", "python", str(manifest))
    module = tmp_path / "editor_keys.py"
    module.write_text(source)
    use = tmp_path / "use.py"
    use.write_text(
        "from editor_keys import EditorPreferences\n"
        "preferences = EditorPreferences()\n"
        "size: int = preferences.font_size\n"
        'preferences.theme = "dark"\n'
        "preferences.class_ = None\n"
    )
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "mypy", module, use],
                   check=True, cwd=tmp_path)  # fmt: skip
    names: dict[str, Any] = {}
    exec(compile(source, str(module), "exec"), names)
    defaults = Defaults("org.example.editor", environment=defaults_agent.environment)
    preferences = names["EditorPreferences"](defaults)
    assert preferences.font_size == 14 and preferences.theme == "light" and preferences.urls == []
    preferences.font_size = 12
    preferences.theme = "dark"
    assert defaults.read("FontSize") == 12 and defaults.read("Theme") == "dark"
    for key, value, allowed in [("font_size", 99, "6 to 72"), ("theme", "pink", "one of"), ("class_", "c", "one of")]:
        with pytest.raises(ValueError, match=allowed):
            setattr(preferences, key, value)
    for key, wrong in [("font_size", "12"), ("font_size", True), ("theme", 1), ("urls", "http://a")]:
        with pytest.raises(TypeError, match="must be of the type"):
            setattr(preferences, key, wrong)
    with pytest.raises(AttributeError):
        preferences.font_sise = 12
    assert defaults.read("FontSize") == 12


def test_json_schema(defaults_agent: Agent, manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults_agent.environment["XDG_DATA_HOME"] = str(manifest.parent.parent.parent)
    schema = json.loads(defaults_agent.run("export", "--json-schema", "org.example.editor", "-"))
    jsonschema.Draft202012Validator.check_schema(schema)
    right: dict[str, Any] = {
        "FontSize": 12, "Theme": "dark", "URLs": ["http://a"], "Pair": [1, "a"], "Proxy": {"Host": "h"},
        "Since": {"$date": "2026-11-27T00:00:00Z"}, "Icon": {"$data": "AA=="},
    }  # fmt: skip
    jsonschema.validate(right, schema)
    wrong: list[dict[str, Any]] = [
        {"FontSize": 99}, {"FontSize": "12"}, {"Theme": "pink"}, {"URLs": ["ftp://a"]}, {"Pair": [1]},
        {"Pair": ["a", 1]}, {"Pair": [1, "a", "b"]}, {"Proxy": {}}, {"Proxy": {"Host": "h", "Prt": 1}},
        {"Since": "today"}, {"Other": 1},
    ]  # fmt: skip
    for values in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(values, schema)
    # The schema is for the command's output.
    for key, value in right.items():
        defaults_agent.run("write", "--strict", "--json", "org.example.editor", key, json.dumps(value))
    jsonschema.validate(json.loads(defaults_agent.run("read", "--json", "org.example.editor")), schema)
