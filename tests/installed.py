"""Packages with methods or measures of their own, as an installer leaves them."""

from pathlib import Path


def install(
    folder: Path,
    name: str,
    points: dict[str, str],
    module: str = "",
    group: str = "understudy.synthesizers",
) -> Path:
    """Write what an installer leaves of a package: its metadata, and its module."""
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [f"{key} = {value}\n" for key, value in points.items()]
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(lines))
    if module:
        (folder / f"{name.replace('-', '_')}.py").write_text(module)
    return folder
