"""The snippets of the package's README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import defaultsd
from defaultsd.testing import Agent

README = Path(__file__).parents[2] / "Sources/python/README.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
OUTPUT = [
    "0.5 True\n[('you, any host', 7)]\n",
    "{python} [('Volume', None, 3)]\n",
    "The volume is 5\n",
    "",
    "",
]


@pytest.mark.parametrize("index", range(len(SNIPPETS) - 1))
def test_a_snippet_runs(defaults_agent: Agent, index: int) -> None:
    result = subprocess.run([sys.executable, "-c", SNIPPETS[index]], stdout=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 0
    assert result.stdout == OUTPUT[index].format(python=Path(sys.executable).resolve())


def test_the_snippet_of_a_test_passes(tmp_path: Path) -> None:
    (tmp_path / "test_snippet.py").write_text(SNIPPETS[-1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    # In a checkout, the fixture's plugin is named; the installed package registers it.
    installed = "site-packages" in str(defaultsd.__file__)
    result = subprocess.run(command + ([] if installed else ["-p", "defaultsd.pytest_plugin"]), timeout=60)
    assert result.returncode == 0


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) < 120
