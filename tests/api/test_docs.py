"""The examples of docs/api.md run, one after the other, as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_examples_of_the_api_page_run(tmp_path: Path, clean_environ: dict[str, str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 6
    script = tmp_path / "page.py"
    # What starts processes is guarded, as in any script.
    body = "".join(f"    {line}\n" if line else "\n" for b in blocks for line in b.splitlines())
    script.write_text(f'if __name__ == "__main__":\n{body}')
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=clean_environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "there is no collector 'fastest'" in done.stdout
    assert (tmp_path / "search.html").exists()
    assert (tmp_path / "both.html").exists()
