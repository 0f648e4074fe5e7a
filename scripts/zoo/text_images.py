"""Renders text with known content: lines for recognition, pages and composites with boxes for detection, captchas."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from . import sentences
from .model import ZooError

FONT_FOLDER = Path("/usr/share/fonts/truetype")
FONTS = (
    "dejavu/DejaVuSans.ttf", "dejavu/DejaVuSans-Bold.ttf", "dejavu/DejaVuSerif.ttf", "dejavu/DejaVuSansCondensed.ttf",
    "liberation2/LiberationSans-Regular.ttf", "liberation2/LiberationSans-Bold.ttf",
    "liberation2/LiberationSerif-Regular.ttf", "liberation2/LiberationSerif-Bold.ttf",
    "liberation2/LiberationMono-Regular.ttf", "freefont/FreeSans.ttf", "freefont/FreeSerif.ttf",
    "freefont/FreeMonoBold.ttf")


@lru_cache(maxsize=512)
def font(name, size):
    path = FONT_FOLDER / name
    if not path.exists():
        raise ZooError(f"font '{path}' is missing; run scripts/setup models")
    # the other layout engine is used only where a system library is there, and places letters differently
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=1)
def vocabulary():
    return sentences.words()


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def random_text(rng, longest):
    """Words, codes, prices, dates or times: what stands on labels and receipts."""
    kind = rng.integers(8)
    digits = lambda n: "".join(str(rng.integers(10)) for _ in range(n))
    if kind == 0:
        return f"{rng.integers(1, 999)}.{digits(2)}"
    if kind == 1:
        return f"20{digits(2)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
    if kind == 2:
        return "".join(chr(65 + rng.integers(26)) for _ in range(3)) + "-" + digits(4)
    if kind == 3:
        return f"{rng.integers(24):02}:{rng.integers(60):02}"
    count, text = int(rng.integers(1, 5)), ""
    for _ in range(count):
        joined = (text + " " + pick(rng, vocabulary())).strip()
        if len(joined) > longest:
            break
        text = joined
    text = text or pick(rng, [w for w in vocabulary() if len(w) <= longest])
    return text.upper() if kind == 4 else text.capitalize() if kind == 5 else text


def random_colours(rng):
    """Paper and ink, far enough apart; one time in five bright on dark."""
    paper, ink = rng.integers(190, 256, 3), rng.integers(0, 90, 3)
    return (tuple(map(int, ink)), tuple(map(int, paper))) if rng.random() < 0.2 else \
        (tuple(map(int, paper)), tuple(map(int, ink)))


def add_noise(rng, image, deviation):
    noisy = np.asarray(image, np.float32) + rng.normal(0, deviation, (image.height, image.width, 3))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def text_line(rng, text):
    """One line of text on plain paper with a little noise, blur and tilt, cut as a detector would cut it; some are small."""
    face = font(pick(rng, FONTS), int(rng.integers(14, 48)))
    left, top, right, bottom = face.getbbox(text)
    rim = max(2, (bottom - top) // int(rng.integers(4, 9)))
    paper, ink = random_colours(rng)
    image = Image.new("RGB", (right - left + 2 * rim, bottom - top + 2 * rim), paper)
    ImageDraw.Draw(image).text((rim - left, rim - top), text, font=face, fill=ink)
    if rng.random() < 0.5:
        image = image.rotate(rng.uniform(-1.5, 1.5), Image.BICUBIC, fillcolor=paper)
    if rng.random() < 0.3:
        height = int(rng.integers(11, 20))
        image = image.resize((max(1, image.width * height // image.height), height), Image.BILINEAR)
    if rng.random() < 0.4:
        image = image.filter(ImageFilter.GaussianBlur(image.height / 48 * rng.uniform(0.5, 1.8)))
    return add_noise(rng, image, rng.uniform(2, 24))


def overlaps(box, boxes, gap):
    return any(box[0] < b[2] + gap and b[0] < box[2] + gap and box[1] < b[3] + gap and b[1] < box[3] + gap for b in boxes)


def place_texts(rng, image, count, sizes):
    """Writes `count` texts at free places; returns their ink boxes [left, top, right, bottom]."""
    draw, boxes = ImageDraw.Draw(image), []
    for _ in range(20 * count):
        if len(boxes) == count:
            break
        face, text = font(pick(rng, FONTS), int(rng.integers(*sizes))), random_text(rng, 18)
        left, top, right, bottom = face.getbbox(text)
        if right - left + 12 > image.width or bottom - top + 12 > image.height:
            continue
        x = int(rng.integers(6, image.width - (right - left) - 5))
        y = int(rng.integers(6, image.height - (bottom - top) - 5))
        box = [x, y, x + right - left, y + bottom - top]
        if overlaps(box, boxes, 14):
            continue
        under = np.asarray(image.crop(box), np.float32).mean()
        ink, rim = ((15, 15, 15), (240, 240, 240)) if under > 120 else ((245, 245, 245), (10, 10, 10))
        stroke = 1 if rng.random() < 0.5 else 0
        draw.text((x - left, y - top), text, font=face, fill=ink, stroke_width=stroke, stroke_fill=rim)
        boxes.append(box)
    return boxes


def page(rng, width, height):
    """A page of ragged lines, one box a line."""
    paper, ink = random_colours(rng)
    image, boxes = Image.new("RGB", (width, height), paper), []
    draw, y = ImageDraw.Draw(image), int(rng.integers(20, 50))
    while True:
        face = font(pick(rng, FONTS), int(rng.integers(16, 34)))
        text = " ".join(pick(rng, vocabulary()) for _ in range(int(rng.integers(1, 6))))
        x = int(rng.integers(16, 60))
        left, top, right, bottom = face.getbbox(text)
        if y + bottom - top + 16 > height:
            return add_noise(rng, image, rng.uniform(1, 8)), boxes
        if x + right - left + 10 < width:
            draw.text((x - left, y - top), text, font=face, fill=ink)
            boxes.append([x, y, x + right - left, y + bottom - top])
        y += bottom - top + int(rng.integers(14, 40))


def captcha(rng):
    """A strip of tilted letters behind thin lines, and the boxes of the letters."""
    image, boxes = Image.new("RGB", (260, 100), tuple(map(int, rng.integers(180, 256, 3)))), []
    for index in range(int(rng.integers(4, 7))):
        tile = Image.new("RGBA", (60, 60), (0, 0, 0, 0))
        ink = tuple(map(int, rng.integers(0, 150, 3)))
        letter = chr(pick(rng, list(range(48, 58)) + list(range(65, 91))))
        ImageDraw.Draw(tile).text((14, 4), letter, font=font(pick(rng, FONTS), int(rng.integers(32, 46))), fill=ink)
        tile = tile.rotate(rng.uniform(-30, 30), Image.BICUBIC)
        x, y = 4 + 40 * index, int(rng.integers(5, 35))
        image.paste(tile, (x, y), tile)
        left, top, right, bottom = tile.getchannel("A").getbbox()
        boxes.append([x + left, y + top, x + right, y + bottom])
    draw = ImageDraw.Draw(image)
    for _ in range(5):
        ends = [int(v) for v in rng.integers((0, 0, 0, 0), (260, 100, 260, 100))]
        draw.line(ends, fill=tuple(map(int, rng.integers(0, 200, 3))), width=1)
    return add_noise(rng, image, 6), boxes


def scatter_characters(rng, photo):
    """Large characters at free places of a photograph, as in click captchas, and their boxes."""
    image, places, boxes = photo.copy(), [], []
    draw = ImageDraw.Draw(image)
    while len(boxes) < 5:
        x, y = int(rng.integers(5, image.width - 65)), int(rng.integers(5, image.height - 65))
        if overlaps([x, y, x + 60, y + 60], places, 2):
            continue
        places.append([x, y, x + 60, y + 60])
        face, letter, ink = font(pick(rng, FONTS), 46), chr(65 + int(rng.integers(26))), rng.integers(0, 256, 3)
        draw.text((x + 8, y), letter, font=face, fill=tuple(map(int, ink)), stroke_width=2,
                  stroke_fill=tuple(map(int, 255 - ink)))
        boxes.append([int(v) for v in draw.textbbox((x + 8, y), letter, font=face, stroke_width=2)])
    return image, boxes
