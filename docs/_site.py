"""Give mkdocs the repository's pages where they lie, so that links work on the site as in git."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

_PAGES = (
    "*.md",
    "LICENSE",
    "docs/**/*.*",
    "examples/*",
    "plugins/peers/*/README.md",
    "results/*.*",
    "results/baselines/*",
    ".github/workflows/*",
)


def on_files(files: Files, *, config: Any) -> Files:
    """Return the pages named from the repository's root, and the theme's own files."""
    root = Path(config.config_file_path).parent
    pages = [path for pattern in _PAGES for path in sorted(root.glob(pattern)) if path.is_file()]
    ours = [
        File.generated(
            config,
            path.relative_to(root).as_posix(),
            abs_src_path=str(path),
            inclusion=InclusionLevel.INCLUDED,
        )
        for path in pages
        if path.suffix not in {".py", ".pyc"} or path.parent.name == "examples"
    ]
    docs = Path(config.docs_dir)
    theme = [one for one in files if not Path(one.abs_src_path or "").is_relative_to(docs)]
    return Files([*theme, *ours])
