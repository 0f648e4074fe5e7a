"""What a model of the zoo is: how its ONNX bytes, its inputs and its labels come to be, and how answers are judged."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Samples:
    """Inputs by graph input name, one dictionary a sample; `labels` has one JSON-able entry per evaluation sample."""
    calib: list
    eval: list
    labels: list


@dataclass
class Model:
    name: str
    task: str
    metric: str
    profile: str                       # input=min:opt:max, comma separated, dims by x
    origin: str
    inputs_made: str                   # how calibration and evaluation inputs were made
    build: Callable                    # () -> ModelProto or bytes
    samples: Callable                  # (ModelProto) -> Samples
    score: Callable | None = None      # (list of outputs by name, labels) -> accuracy in 0..1; None: speed or cosine only
    check: Callable | None = None      # (run: inputs -> outputs) -> list of lines to report; raises if the model is wrong
    label: Callable | None = None      # (FP32 outputs, labels) -> labels, where FP32's answer is the label
    package: str = ""                  # name==version, empty: nothing is downloaded
    speed_only: bool = False
    batched: str = ""                  # a second profile with several samples at once, for throughput


class ZooError(Exception):
    """A failure whose text is meant for the user."""
