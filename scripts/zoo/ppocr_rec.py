"""PP-OCRv4 text recognition, judged by exact match of rendered lines."""

import functools

import numpy as np
import onnx
from PIL import Image

from . import packages, photos, text_images
from .model import Model, Samples

PACKAGE = "rapidocr-onnxruntime==1.4.4"
HEIGHT, WIDTHS = 48, (320, 480, 640)
MEAN = DEVIATION = 127.5  # (x / 255 - 0.5) / 0.5


@functools.lru_cache(maxsize=1)
def build():
    return packages.read(PACKAGE, "ch_PP-OCRv4_rec_infer.onnx")


@functools.lru_cache(maxsize=1)
def characters():
    """Class number → character; class 0 is CTC's blank, the last one a space."""
    model = onnx.load_from_string(build())
    listed = next(entry.value for entry in model.metadata_props if entry.key == "character")
    return ["", *listed.split("\n"), " "]


def prepare(image):
    """Height 48, aspect kept, zeros to the right up to the next of three widths."""
    width = min(WIDTHS[-1], max(1, round(image.width * HEIGHT / image.height)))
    padded = np.zeros((1, 3, HEIGHT, next(w for w in WIDTHS if w >= width)), np.float32)
    scaled = image.resize((width, HEIGHT), Image.BILINEAR)
    padded[:, :, :, :width] = photos.planes(scaled, MEAN, DEVIATION, bgr=True)
    return {"x": padded}


def lines(seed, count):
    """Most lines fit the usual width; one in five may be longer."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        text = text_images.random_text(rng, 26 if index % 5 == 4 else 14)
        yield text, prepare(text_images.text_line(rng, text))


def samples(model):
    evaluate = list(lines(21, 200))
    return Samples([sample for _, sample in lines(20, 64)], [sample for _, sample in evaluate],
                   [{"text": text} for text, _ in evaluate])


def decode(probabilities):
    """Greedy CTC: the best class of each step, repeats and blanks dropped."""
    best = probabilities.argmax(axis=-1)
    kept = best[(best != 0) & (best != np.concatenate([[-1], best[:-1]]))]
    table = characters()
    return "".join(table[i] for i in kept)


def score(outputs, labels):
    """Share of lines read without a fault; spaces are not counted, since the model was taught to leave many out."""
    plain = lambda text: text.replace(" ", "")
    hits = [plain(decode(next(iter(out.values()))[0])) == plain(known["text"]) for out, known in zip(outputs, labels)]
    return float(np.mean(hits))


MODEL = Model(
    name="ppocr_v4_rec", task="text line recognition", metric="exact match of the line, spaces ignored", package=PACKAGE,
    profile="x=1x3x48x320:1x3x48x320:1x3x48x640", batched="x=1x3x48x320:6x3x48x320:8x3x48x640",
    origin="ch_PP-OCRv4_rec_infer.onnx of the package",
    inputs_made="rendered lines of words, codes, prices, dates and times in twelve fonts, with light noise, blur and "
                "tilt; BGR, (x / 255 - 0.5) / 0.5, zeros to the right up to 320, 480 or 640; calibration and evaluation "
                "differ by seed",
    build=build, samples=samples, score=score)
