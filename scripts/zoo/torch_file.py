"""Reads a PyTorch weights file without PyTorch.

Both forms are understood: the old one (five pickles, then raw storages) and the zip archive. The unpickler knows
ordered dictionaries and tensors only, so a file cannot run code.
"""

import collections
import io
import pickle
import zipfile

import numpy as np

DTYPES = {"FloatStorage": np.float32, "DoubleStorage": np.float64, "HalfStorage": np.float16,
          "LongStorage": np.int64, "IntStorage": np.int32, "ByteStorage": np.uint8}


def make_tensor(storage, offset, shape, stride, *_):
    return storage, offset, shape, stride


class WeightsUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return make_tensor
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        raise pickle.UnpicklingError(f"torch file: refused to load a class: got {module}.{name}, need plain tensors")

    def persistent_load(self, identity):
        kind, dtype, key = identity[:3]
        if kind != "storage":
            raise pickle.UnpicklingError(f"torch file: unknown reference: got {kind}, need storage")
        return key, np.dtype(dtype)


def as_array(tensor, storages):
    (key, dtype), offset, shape, stride = tensor
    flat = np.frombuffer(storages[key], dtype)
    end = offset + sum((n - 1) * s for n, s in zip(shape, stride)) + 1
    if end > flat.size:
        raise ValueError(f"torch file: tensor beyond its storage: got {end}, need at most {flat.size}")
    strides = [s * dtype.itemsize for s in stride]
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, strides).copy()


def read_zip(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    pickled = next(n for n in archive.namelist() if n.endswith("/data.pkl"))
    tensors = WeightsUnpickler(archive.open(pickled)).load()
    folder = pickled[: -len("data.pkl")] + "data/"
    return tensors, {n[len(folder):]: archive.read(n) for n in archive.namelist() if n.startswith(folder)}


def read_old(data):
    stream = io.BytesIO(data)
    for _ in range(3):  # magic number, protocol version, sizes of types
        WeightsUnpickler(stream).load()
    tensors = WeightsUnpickler(stream).load()
    dtypes = {tensor[0][0]: tensor[0][1] for tensor in tensors.values()}
    storages = {}
    for key in WeightsUnpickler(stream).load():
        count = int.from_bytes(stream.read(8), "little")
        storages[key] = stream.read(count * dtypes[key].itemsize)
    return tensors, storages


def read_weights(data):
    """The state dictionary in the bytes `data`: tensor name → array."""
    tensors, storages = read_zip(data) if data[:2] == b"PK" else read_old(data)
    return {name: as_array(tensor, storages) for name, tensor in tensors.items()}
