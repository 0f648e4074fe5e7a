"""The command line of scripts/models."""

import argparse
import sys
import time

from . import catalog, store
from .model import ZooError
from .paths import MODELS


def listing():
    for model in catalog.MODELS.values():
        state = "there" if (MODELS / model.name / "recipe.json").exists() else "absent"
        print(f"{model.name:20} {state:7} {'speed' if model.speed_only else 'task':6} {model.task}")
    print(f"folder: {MODELS}")


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/models", description="Brings models with their inputs and labels into the model folder.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to bring (default: all)")
    parser.add_argument("--list", action="store_true", help="list the models and whether they are there")
    parser.add_argument("--speed-only", action="store_true", help="only the untrained models, which need no download")
    parser.add_argument("--force", action="store_true", help="make a model again although it is there")
    options = parser.parse_args()
    if options.list:
        return listing()

    unknown = [name for name in options.names if name not in catalog.MODELS]
    if unknown:
        raise ZooError(f"model '{unknown[0]}' is unknown; known are: {' '.join(catalog.MODELS)}")
    wanted = [m for m in catalog.MODELS.values() if not options.names or m.name in options.names]
    if options.speed_only:
        wanted = [m for m in wanted if m.speed_only]
    for model in wanted:
        if not options.force and (MODELS / model.name / "recipe.json").exists():
            print(f"{model.name}: there already")
            continue
        start = time.monotonic()
        store.bring(model, lambda line, name=model.name: print(f"{name}: {line}", flush=True))
        print(f"{model.name}: done in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ZooError as error:
        sys.exit(f"models: {error}")
