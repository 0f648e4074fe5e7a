"""The captcha character detector of ddddocr (a YOLOX network), judged by F-measure of the character boxes."""

import numpy as np
from PIL import Image

from . import boxes, packages, photos, text_images
from .model import Model, Samples

PACKAGE = "ddddocr==1.6.1"
SIZE, BORDER, STRIDES = 416, 114, (8, 16, 32)
SCORE_THRESHOLD, DOUBLE_OVERLAP = 0.3, 0.45


def prepare(image):
    """Scaled to fit the upper left of a grey square, BGR, 0 … 255; returns (input, scale)."""
    ratio = SIZE / max(image.size)
    image = image.resize((max(1, int(image.width * ratio)), max(1, int(image.height * ratio))), Image.BILINEAR)
    square = Image.new("RGB", (SIZE, SIZE), (BORDER,) * 3)
    square.paste(image, (0, 0))
    return {"images": photos.planes(square, 0, 1, bgr=True)}, ratio


def pictures(seed, count):
    """Photographs with large characters on them, captcha strips and plain photographs, in turn; (input, boxes)."""
    rng = np.random.default_rng(seed)
    for index, (_, photo) in enumerate(list(photos.crops(rng, count, 400, 300))):
        image, known = photo, []
        if index % 3 == 0:
            image, known = text_images.scatter_characters(rng, photo)
        elif index % 3 == 1:
            image, known = text_images.captcha(rng)
        sample, ratio = prepare(image)
        yield sample, [[round(ratio * v, 1) for v in box] for box in known]


def samples(model):
    evaluate = list(pictures(4, 60))
    return Samples([sample for sample, _ in pictures(3, 64)], [sample for sample, _ in evaluate],
                   [{"boxes": known} for _, known in evaluate])


def found_boxes(output):
    """Each row is (x, y, log width, log height, object, class), in cells of three grids, finest first."""
    corners, strides = [], []
    for stride in STRIDES:
        cells = SIZE // stride
        rows, columns = np.mgrid[:cells, :cells]
        corners.append(np.stack([columns, rows], axis=-1).reshape(-1, 2))
        strides.append(np.full((cells * cells, 1), stride))
    strides = np.concatenate(strides)
    scores = output[:, 4] * output[:, 5]
    centres, sizes = (output[:, :2] + np.concatenate(corners)) * strides, np.exp(output[:, 2:4]) * strides
    likely = scores > SCORE_THRESHOLD
    every = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)[likely].tolist()
    return boxes.without_doubles(every, scores[likely], DOUBLE_OVERLAP)


def score(outputs, labels):
    return boxes.f_measure([found_boxes(out["output"][0]) for out in outputs], [known["boxes"] for known in labels])


MODEL = Model(
    name="ddddocr_det", task="character detection in captcha pictures", package=PACKAGE,
    metric="F-measure of character boxes at overlap 0.5",
    profile="images=1x3x416x416:1x3x416x416:1x3x416x416",
    origin="common_det.onnx of the package",
    inputs_made="rendered captcha strips, photographs of scikit-image and scikit-learn with large characters on them, and "
                "plain ones; fitted into a grey 416x416 square, BGR, 0 to 255; calibration and evaluation differ by seed",
    build=lambda: packages.read(PACKAGE, "common_det.onnx"), samples=samples, score=score)
