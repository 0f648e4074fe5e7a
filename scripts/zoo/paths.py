"""Where the zoo lives on disk."""

import os
from pathlib import Path

CACHE = Path(os.environ.get("INGOT_CACHE") or Path.home() / ".cache" / "ingot")
MODELS = CACHE / "models"
VENV = CACHE / "venv"
