"""PP-OCRv4 text detection, judged by F-measure of the boxes around the thresholded map."""

import numpy as np

from . import boxes, packages, photos, text_images
from .model import Model, Samples

PACKAGE = "rapidocr-onnxruntime==1.4.4"
MEAN = DEVIATION = 127.5
THRESHOLD, BOX_THRESHOLD, UNCLIP = 0.3, 0.5, 1.6
SIZES = ((640, 640), (640, 640), (640, 640), (640, 480), (480, 640))


def pictures(seed, count):
    """Pages and photographs with text on them, in turn; yields (input, ink boxes)."""
    rng = np.random.default_rng(seed)
    shots = list(photos.load_all().values())
    for index in range(count):
        width, height = SIZES[index % len(SIZES)]
        if index % 2:
            image, known = text_images.page(rng, width, height)
        else:
            image = photos.random_crop(rng, shots[index // 2 % len(shots)], width, height, smallest=0.6)
            known = text_images.place_texts(rng, image, int(rng.integers(4, 11)), (18, 56))
        yield {"x": photos.planes(image, MEAN, DEVIATION, bgr=True)}, known


def samples(model):
    evaluate = list(pictures(31, 60))
    return Samples([sample for sample, _ in pictures(30, 40)], [sample for sample, _ in evaluate],
                   [{"boxes": known} for _, known in evaluate])


def found_boxes(probability):
    """Boxes of the connected regions above the threshold, grown back as the detector shrank them when taught."""
    from scipy import ndimage
    regions, _ = ndimage.label(probability > THRESHOLD)
    found = []
    for index, (rows, columns) in enumerate(ndimage.find_objects(regions), 1):
        inside = regions[rows, columns] == index
        height, width = inside.shape
        if min(height, width) < 3 or probability[rows, columns][inside].mean() < BOX_THRESHOLD:
            continue
        grow = width * height * UNCLIP / (2 * (width + height))
        found.append([columns.start - grow, rows.start - grow, columns.stop + grow, rows.stop + grow])
    return found


def score(outputs, labels):
    found = [found_boxes(next(iter(out.values()))[0, 0]) for out in outputs]
    return boxes.f_measure(found, [known["boxes"] for known in labels])


MODEL = Model(
    name="ppocr_v4_det", task="text detection", metric="F-measure of text boxes at overlap 0.5", package=PACKAGE,
    profile="x=1x3x480x480:1x3x640x640:1x3x640x640",
    origin="ch_PP-OCRv4_det_infer.onnx of the package",
    inputs_made="rendered pages, and texts written on photographs of scikit-image and scikit-learn, 640x640, 640x480 and "
                "480x640; BGR, (x / 255 - 0.5) / 0.5; calibration and evaluation differ by seed",
    build=lambda: packages.read(PACKAGE, "ch_PP-OCRv4_det_infer.onnx"), samples=samples, score=score)
