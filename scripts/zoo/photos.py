"""Photographs that scikit-image and scikit-learn carry, and random crops of them."""

import numpy as np
from PIL import Image, ImageEnhance

from . import packages

SKIMAGE = ("astronaut.png", "brick.png", "camera.png", "chelsea.png", "clock_motion.png", "coffee.png", "coins.png",
           "color.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png",
           "motorcycle_left.png", "retina.jpg", "rocket.jpg")
SKLEARN = ("china.jpg", "flower.jpg")


def load_all():
    """Photograph name → RGB image."""
    skimage = packages.folder_of("skimage") / "data"
    sklearn = packages.folder_of("sklearn") / "datasets" / "images"
    files = [skimage / name for name in SKIMAGE] + [sklearn / name for name in SKLEARN]
    return {path.stem: Image.open(path).convert("RGB") for path in files}


def centre(photo, size, margin=32):
    """The largest centred square, without the usual border, scaled to `size`."""
    side = int(size / (size + margin) * min(photo.size))
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    return photo.resize((size, size), Image.BICUBIC, (left, top, left + side, top + side))


def random_crop(rng, photo, width, height, smallest=0.35):
    """A random part of `photo` with the wanted aspect, maybe mirrored, with light and contrast changed a little."""
    aspect = width / height
    limit = min(photo.width, photo.height * aspect)
    wide = limit * rng.uniform(smallest, 1)
    left, top = rng.uniform(0, photo.width - wide), rng.uniform(0, photo.height - wide / aspect)
    crop = photo.resize((width, height), Image.BICUBIC, (left, top, left + wide, top + wide / aspect))
    if rng.random() < 0.5:
        crop = crop.transpose(Image.FLIP_LEFT_RIGHT)
    crop = ImageEnhance.Brightness(crop).enhance(rng.uniform(0.8, 1.2))
    return ImageEnhance.Contrast(crop).enhance(rng.uniform(0.8, 1.2))


def crops(rng, count, width, height, smallest=0.35):
    """`count` random crops, every photograph in turn; yields (name, image)."""
    images = list(load_all().items())
    for index in range(count):
        name, photo = images[index % len(images)]
        yield name, random_crop(rng, photo, width, height, smallest)


def planes(image, mean, deviation, bgr=False):
    """Image → float32 array [1, 3, height, width], (value − mean) / deviation."""
    array = np.asarray(image, np.float32)
    if bgr:
        array = array[:, :, ::-1]
    return np.ascontiguousarray(((array - mean) / deviation).transpose(2, 0, 1)[None], np.float32)
