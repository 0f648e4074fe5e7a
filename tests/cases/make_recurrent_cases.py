"""Writes tests/cases/ops/recurrent.txt: RNN, GRU and LSTM with the answers of onnxruntime (batch first: of onnx.reference).

Run by hand when cases are added:  python tests/cases/make_recurrent_cases.py   (needs what make_ops_cases.py needs)
The file is read by tests/ops/recurrent_test.cpp.
"""
import numpy as np

from make_ops_cases import Writer, data

GATES, ACTIVATIONS, DEFAULTS = {"RNN": 1, "GRU": 3, "LSTM": 4}, {"RNN": 1, "GRU": 2, "LSTM": 3}, {"RNN": [1], "GRU": [2, 1], "LSTM": [2, 1, 1]}
# As in recurrent.h, with the alpha and beta that ONNX gives where none are named.
NAMES = {"Relu": (0, 0, 0), "Tanh": (1, 0, 0), "Sigmoid": (2, 0, 0), "Affine": (3, 1, 0), "LeakyRelu": (4, 0.01, 0), "ThresholdedRelu": (5, 1, 0),
         "ScaledTanh": (6, 1, 1), "HardSigmoid": (7, 0.2, 0.5), "Elu": (8, 1, 0), "Softsign": (9, 0, 0), "Softplus": (10, 0, 0)}
w = Writer("recurrent.txt", "Recurrent layers.")


def numbers(values):
    return "[" + ",".join(f"{v:g}" for v in values) + "]"


def recurrent(name, cell, direction="forward", bias=False, lengths=None, states=False, peepholes=False, batch_first=False,
              activations=None, alphas=None, betas=None, clip=None, steps=4, batch=2, width=3, hidden=5, **flags):
    d = 2 if direction == "bidirectional" else 1
    rows = GATES[cell] * hidden

    def small(tag, *shape):
        return data(name + tag, shape) / np.float32(8)
    state_shape = (batch, d, hidden) if batch_first else (d, batch, hidden)
    inputs = [small("x", *((batch, steps, width) if batch_first else (steps, batch, width))), small("w", d, rows, width), small("r", d, rows, hidden),
              small("b", d, 2 * rows) if bias else None, np.array(lengths, np.int32) if lengths else None,
              small("h", *state_shape) if states else None]
    if cell == "LSTM":
        inputs += [small("c", *state_shape) if states else None, small("p", d, 3 * hidden) if peepholes else None]
    attrs = {"hidden_size": hidden, "direction": direction, **flags}
    if batch_first:
        attrs["layout"] = 1
    if clip:
        attrs["clip"] = clip
    ids, a, b = DEFAULTS[cell] * d, [0] * (ACTIVATIONS[cell] * d), [0] * (ACTIVATIONS[cell] * d)
    if activations:
        attrs["activations"] = activations
        ids, a, b = map(list, zip(*(NAMES[n] for n in activations)))
        if alphas:
            attrs["activation_alpha"], a = [float(v) for v in alphas], alphas
        if betas:
            attrs["activation_beta"], b = [float(v) for v in betas], betas
    fields = [f"cell={cell.lower()}", f"direction={direction}", f"activations={numbers(ids)}", f"alphas={numbers(a)}", f"betas={numbers(b)}"]
    fields += [f"{key}={value}" for key, value in flags.items()] + (["batch_first=1"] if batch_first else []) + ([f"clip={clip}"] if clip else [])
    w.case(name, "Recurrent", cell, inputs, " ".join(fields), attrs, 3 if cell == "LSTM" else 2, 14, "1e-5", batch_first)


for cell in GATES:
    kind = cell.lower()
    recurrent(f"{kind}_plain", cell)
    recurrent(f"{kind}_reverse", cell, "reverse", bias=True)
    recurrent(f"{kind}_bidirectional_lengths", cell, "bidirectional", bias=True, lengths=[3, 1], states=True)
    recurrent(f"{kind}_reverse_lengths", cell, "reverse", lengths=[2, 4], states=True)
    recurrent(f"{kind}_clip", cell, bias=True, clip=0.5, states=True)
    recurrent(f"{kind}_one_step", cell, steps=1, batch=1, width=1, hidden=1, states=True)
    recurrent(f"{kind}_batch_first", cell, batch_first=True, bias=True)
recurrent("gru_linear_before_reset", "GRU", "bidirectional", bias=True, states=True, linear_before_reset=1)
recurrent("gru_linear_before_reset_lengths", "GRU", "reverse", bias=True, lengths=[4, 2], linear_before_reset=1)
recurrent("lstm_peepholes", "LSTM", "bidirectional", bias=True, states=True, peepholes=True)
recurrent("lstm_input_forget", "LSTM", bias=True, states=True, input_forget=1)
recurrent("lstm_activations", "LSTM", "bidirectional", bias=True, activations=["HardSigmoid", "Softsign", "Tanh", "Sigmoid", "Relu", "Softsign"])
recurrent("gru_activations", "GRU", bias=True, activations=["HardSigmoid", "Softsign"])
recurrent("rnn_relu", "RNN", "bidirectional", bias=True, activations=["Relu", "Tanh"])
w.write()
