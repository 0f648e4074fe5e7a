"""PP-OCRv4 text detection, judged by F-measure of the boxes around the thresholded map."""

import numpy as np

from . import packages, photos, text_images
from .model import Model, Samples

PACKAGE = "rapidocr-onnxruntime==1.4.4"
MEAN = DEVIATION = 127.5
THRESHOLD, BOX_THRESHOLD, UNCLIP, WANTED_OVERLAP = 0.3, 0.5, 1.6, 0.5
SIZES = ((640, 640), (640, 640), (640, 640), (640, 480), (480, 640))


def pictures(seed, count):
    """Pages and photographs with text on them, in turn; yields (input, ink boxes)."""
    rng = np.random.default_rng(seed)
    shots = list(photos.load_all().values())
    for index in range(count):
        width, height = SIZES[index % len(SIZES)]
        if index % 2:
            image, boxes = text_images.page(rng, width, height)
        else:
            image = photos.random_crop(rng, shots[index // 2 % len(shots)], width, height, smallest=0.6)
            boxes = text_images.place_texts(rng, image, int(rng.integers(4, 11)), (18, 56))
        yield {"x": photos.planes(image, MEAN, DEVIATION, bgr=True)}, boxes


def samples(model):
    evaluate = list(pictures(31, 60))
    return Samples([sample for sample, _ in pictures(30, 40)], [sample for sample, _ in evaluate],
                   [{"boxes": boxes} for _, boxes in evaluate])


def found_boxes(probability):
    """Boxes of the connected regions above the threshold, grown back as the detector shrank them when taught."""
    from scipy import ndimage
    regions, _ = ndimage.label(probability > THRESHOLD)
    boxes = []
    for index, (rows, columns) in enumerate(ndimage.find_objects(regions), 1):
        inside = regions[rows, columns] == index
        height, width = inside.shape
        if min(height, width) < 3 or probability[rows, columns][inside].mean() < BOX_THRESHOLD:
            continue
        grow = width * height * UNCLIP / (2 * (width + height))
        boxes.append([columns.start - grow, rows.start - grow, columns.stop + grow, rows.stop + grow])
    return boxes


def overlap(a, b):
    """Intersection over union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
    return width * height / (area(a) + area(b) - width * height)


def score(outputs, labels):
    """F-measure over all pictures; each true box is matched once, best overlap first."""
    hits = found = true = 0
    for out, known in zip(outputs, labels):
        boxes, wanted = found_boxes(next(iter(out.values()))[0, 0]), known["boxes"]
        pairs = sorted(((overlap(a, b), i, j) for i, a in enumerate(boxes) for j, b in enumerate(wanted)), reverse=True)
        used_found, used_true = set(), set()
        for value, i, j in pairs:
            if value >= WANTED_OVERLAP and i not in used_found and j not in used_true:
                used_found.add(i)
                used_true.add(j)
        hits, found, true = hits + len(used_true), found + len(boxes), true + len(wanted)
    return 2 * hits / max(1, found + true)


MODEL = Model(
    name="ppocr_v4_det", task="text detection", metric="F-measure of text boxes at overlap 0.5", package=PACKAGE,
    profile="x=1x3x480x480:1x3x640x640:1x3x640x640",
    origin="ch_PP-OCRv4_det_infer.onnx of the package",
    inputs_made="rendered pages, and texts written on photographs of scikit-image and scikit-learn, 640x640, 640x480 and "
                "480x640; BGR, (x / 255 - 0.5) / 0.5; calibration and evaluation differ by seed",
    build=lambda: packages.read(PACKAGE, "ch_PP-OCRv4_det_infer.onnx"), samples=samples, score=score)
