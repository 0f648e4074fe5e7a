"""Boxes [left, top, right, bottom]: overlap, and the F-measure of found boxes against known ones."""

WANTED_OVERLAP = 0.5


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(a, b):
    """Intersection over union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (area(a) + area(b) - width * height)


def without_doubles(boxes, scores, limit):
    """The boxes, best score first, that overlap no better one by more than `limit`."""
    kept = []
    for index in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[index], other) <= limit for other in kept):
            kept.append(boxes[index])
    return kept


def f_measure(found, known):
    """Over all pictures; within one, each known box is matched once, best overlap first."""
    hits = total = 0
    for boxes, wanted in zip(found, known):
        pairs = sorted(((overlap(a, b), i, j) for i, a in enumerate(boxes) for j, b in enumerate(wanted)), reverse=True)
        used_found, used_known = set(), set()
        for value, i, j in pairs:
            if value >= WANTED_OVERLAP and i not in used_found and j not in used_known:
                used_found.add(i)
                used_known.add(j)
        hits, total = hits + len(used_known), total + len(boxes) + len(wanted)
    return 2 * hits / max(1, total)
