"""The code of docs/devices.md runs as written, in order, in one namespace; `py` blocks need hardware and do not run."""

import re
from pathlib import Path

from passivo.device.catalogue import DRIVERS

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    namespace: dict = {}
    for block in blocks:
        exec(compile(block, "docs/devices.md", "exec"), namespace)
    assert capsys.readouterr().out == "clamped enabled\n"  # the first force waits for an increment


def test_every_driver_is_on_the_page():
    text = PAGE.read_text()
    for name in DRIVERS:
        assert f"| `{name}` |" in text
