"""Tests of the zoo's own arithmetic; needs no downloaded model. Run: scripts/zoo/zoo_test.py in the environment."""

import io
import pickle
import sys
import unittest
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import numpy as np
import onnx
import onnxruntime

from zoo import boxes, catalog, efficientnet_lite0, minilm_l6, mobilenet_v2, ppocr_rec, score, sentences, torch_file
from zoo.graph_writer import GraphWriter
from zoo.wordpiece import WordPiece


class Call:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class TorchFile(unittest.TestCase):
    def test_refuses_code(self):
        stream = io.BytesIO(pickle.dumps(Call(print, ("run",))))
        with self.assertRaisesRegex(pickle.UnpicklingError, "builtins.print"):
            torch_file.WeightsUnpickler(stream).load()

    def test_strided_view(self):
        storages = {"7": np.arange(6, dtype=np.float32).tobytes()}
        array = torch_file.as_array((("7", np.dtype(np.float32)), 0, (3, 2), (1, 3)), storages)
        np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3).T)

    def test_tensor_beyond_its_storage(self):
        storages = {"7": np.zeros(6, np.float32).tobytes()}
        with self.assertRaisesRegex(ValueError, "got 7, need at most 6"):
            torch_file.as_array((("7", np.dtype(np.float32)), 1, (3, 2), (2, 1)), storages)


class Tokens(unittest.TestCase):
    def setUp(self):
        self.pieces = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "play", "##ing", "##s", "cafe", "!", "p"])

    def test_longest_piece_first(self):
        self.assertEqual(self.pieces.encode("Plays playing", 16), [2, 4, 6, 4, 5, 3])

    def test_accents_punctuation_unknown(self):
        self.assertEqual(self.pieces.encode("Café! xyz", 16), [2, 7, 8, 1, 3])

    def test_limit_keeps_the_end_mark(self):
        self.assertEqual(self.pieces.encode("play play play", 4), [2, 4, 4, 3])


class Judging(unittest.TestCase):
    def test_overlap(self):
        self.assertAlmostEqual(boxes.overlap([0, 0, 2, 2], [1, 0, 3, 2]), 1 / 3)
        self.assertEqual(boxes.overlap([0, 0, 1, 1], [1, 0, 2, 1]), 0)

    def test_each_known_box_counts_once(self):
        known = [[[0, 0, 10, 10], [20, 0, 30, 10]]]
        found = [[[0, 0, 10, 10], [0, 0, 10, 9], [50, 50, 60, 60]]]
        self.assertAlmostEqual(boxes.f_measure(found, known), 2 * 1 / 5)
        self.assertEqual(boxes.f_measure(known, known), 1)

    def test_doubles_go_the_better_stays(self):
        kept = boxes.without_doubles([[0, 0, 10, 10], [1, 0, 11, 10], [30, 0, 40, 10]], [0.5, 0.9, 0.1], 0.45)
        self.assertEqual(kept, [[1, 0, 11, 10], [30, 0, 40, 10]])

    def test_ctc(self):
        table = ppocr_rec.characters
        ppocr_rec.characters = lambda: ["", "a", "b", " "]
        try:
            steps = [1, 1, 0, 1, 2, 2, 0, 3]
            self.assertEqual(ppocr_rec.decode(np.eye(4)[steps]), "aab ")
        finally:
            ppocr_rec.characters = table

    def test_topics(self):
        vectors = [[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [1, 0.2]]
        outputs = [{"sentence_embedding": np.array([v])} for v in vectors]
        labels = [{"topic": topic} for topic in "aabbb"]
        self.assertAlmostEqual(minilm_l6.score(outputs, labels), 4 / 5)

    def test_cosine(self):
        self.assertAlmostEqual(score.cosine(np.array([1.0, 0]), np.array([1.0, 1.0])), 0.5 ** 0.5)
        self.assertEqual(score.cosine(np.zeros(2), np.ones(2)), 0)

    def test_agreement(self):
        outputs = [{"logits": np.array([[0, 1]])}, {"logits": np.array([[1, 0]])}]
        self.assertEqual(efficientnet_lite0.score(outputs, [{"fp32_class": 1}, {"fp32_class": 1}]), 0.5)


class Writing(unittest.TestCase):
    def test_same_pads(self):
        self.assertEqual(efficientnet_lite0.same_pads(224, 3, 2), [0, 0, 1, 1])
        self.assertEqual(efficientnet_lite0.same_pads(7, 5, 2), [2, 2, 2, 2])
        self.assertEqual(efficientnet_lite0.same_pads(14, 5, 2), [1, 1, 2, 2])

    def test_output_takes_its_name_everywhere(self):
        g = GraphWriter("small")
        hidden = g.node("Relu", g.input("x", ["n", 2]))
        g.output(g.node("Add", hidden, g.scalar(1)), "y", ["n", 2])
        g.output(hidden, "h", ["n", 2])
        run = onnxruntime.InferenceSession(g.model().SerializeToString(), providers=["CPUExecutionProvider"])
        y, h = run.run(["y", "h"], {"x": np.array([[-1, 2]], np.float32)})
        np.testing.assert_array_equal((y, h), ([[1, 3]], [[0, 2]]))

    def test_gelu(self):
        g = GraphWriter("gelu")
        g.output(g.gelu(g.input("x", [3])), "y", [3])
        run = onnxruntime.InferenceSession(g.model().SerializeToString(), providers=["CPUExecutionProvider"])
        y = run.run(None, {"x": np.array([-1, 0, 1], np.float32)})[0]
        np.testing.assert_allclose(y, [-0.158655, 0, 0.841345], atol=1e-5)

    def test_same_seed_same_model(self):
        self.assertEqual(mobilenet_v2.build().SerializeToString(), mobilenet_v2.build().SerializeToString())

    def test_mobilenet_shapes(self):
        values = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
                  for v in onnx.shape_inference.infer_shapes(mobilenet_v2.build()).graph.value_info}
        self.assertEqual(values["head.conv_y"][1:], [1280, 7, 7])


class Catalog(unittest.TestCase):
    def test_profiles_name_three_shapes_in_order(self):
        for model in catalog.MODELS.values():
            for entry in filter(None, f"{model.profile},{model.batched}".split(",")):
                shapes = [list(map(int, s.split("x"))) for s in entry.split("=")[1].split(":")]
                self.assertEqual(len(shapes), 3, model.name)
                for low, middle, high in zip(*shapes, strict=True):
                    self.assertTrue(low <= middle <= high, f"{model.name}: {entry}")

    def test_sentences_are_all_different(self):
        every = [text for _, text in sentences.calibration() + sentences.evaluation()]
        self.assertEqual(len(every), len(set(every)))
        self.assertEqual({len(texts) for texts in sentences.TOPICS.values()}, {14})


if __name__ == "__main__":
    unittest.main()
