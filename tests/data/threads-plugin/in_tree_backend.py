"""Build a wheel of `src`, with nothing but the standard library: tests need no download."""

from __future__ import annotations

import zipfile
from pathlib import Path

NAME = "wfbench_threads-0.1.0"
FILES = {
    "METADATA": "Metadata-Version: 2.1\nName: wfbench-threads\nVersion: 0.1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[wfbench]\nthreads = wfbench_threads.plugin\n",
    "RECORD": "",
}


def build_wheel(
    wheel_directory: str,
    config_settings: object = None,  # noqa: ARG001 (the signature is pip's)
    metadata_directory: object = None,  # noqa: ARG001
) -> str:
    name = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path in sorted(Path("src").rglob("*.py")):
            wheel.write(path, path.relative_to("src").as_posix())
        for file, text in FILES.items():
            wheel.writestr(f"{NAME}.dist-info/{file}", text)
    return name
