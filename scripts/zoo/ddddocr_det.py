"""The captcha character detector of ddddocr (a YOLOX network): judged by agreement with FP32 only."""

import numpy as np
from PIL import Image

from . import packages, photos, text_images
from .model import Model, Samples

PACKAGE = "ddddocr==1.6.1"
SIZE, BORDER = 416, 114


def prepare(image):
    """Scaled to fit the upper left of a grey square, BGR, 0 … 255."""
    ratio = SIZE / max(image.size)
    image = image.resize((max(1, int(image.width * ratio)), max(1, int(image.height * ratio))), Image.BILINEAR)
    square = Image.new("RGB", (SIZE, SIZE), (BORDER,) * 3)
    square.paste(image, (0, 0))
    return {"images": photos.planes(square, 0, 1, bgr=True)}


def pictures(rng, count):
    """Photographs with large characters on them, captcha strips and plain photographs, in turn."""
    shots = list(photos.crops(rng, count, 400, 300))
    for index, (_, photo) in enumerate(shots):
        if index % 3 == 0:
            yield text_images.scatter_characters(rng, photo)
        elif index % 3 == 1:
            yield text_images.captcha(rng)
        else:
            yield photo


def samples(model):
    calib = [prepare(image) for image in pictures(np.random.default_rng(3), 64)]
    evaluate = [prepare(image) for image in pictures(np.random.default_rng(4), 60)]
    return Samples(calib, evaluate, [None] * len(evaluate))


MODEL = Model(
    name="ddddocr_det", task="character detection in captcha pictures", metric="none: cosine to FP32 only",
    package=PACKAGE, profile="images=1x3x416x416:1x3x416x416:1x3x416x416",
    origin="common_det.onnx of the package",
    inputs_made="rendered captcha strips, photographs of scikit-image and scikit-learn with large characters on them, and "
                "plain ones; fitted into a grey 416x416 square, BGR, 0 to 255; calibration and evaluation differ by seed",
    build=lambda: packages.read(PACKAGE, "common_det.onnx"), samples=samples)
