"""Holds one model of a peer ready and times it turn by turn on request, as engine-turns does for Ingot.

  peer_worker.py {onnxruntime|openvino} MODEL SAMPLE.npz THREADS [f32]

Each line of standard input is a number of seconds; each answer is a JSON list of the milliseconds of every run. Inputs are
bound once: copying them is nobody's work here.
"""

import json
import sys
import time

import numpy as np


def onnxruntime_runner(model, sample, threads, _):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    # The timed shape, as far as the model names its dimensions.
    plain = onnxruntime.InferenceSession(model, onnxruntime.SessionOptions(), providers=["CPUExecutionProvider"])
    for value in plain.get_inputs():
        for dim, size in zip(value.shape, sample[value.name].shape):
            if isinstance(dim, str):
                options.add_free_dimension_override_by_name(dim, size)
    names = [o.name for o in plain.get_outputs()]
    del plain
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name in (v.name for v in session.get_inputs()):
        binding.bind_cpu_input(name, sample[name])
    for name in names:
        binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding)


def openvino_runner(model, sample, threads, precision):
    import openvino
    read = openvino.Core().read_model(model)
    read.reshape({value.get_any_name(): list(sample[value.get_any_name()].shape) for value in read.inputs})
    # No pinning to cores: on a shared machine it would wait for whoever is there.
    config = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads, "ENABLE_CPU_PINNING": False}
    if precision:
        config["INFERENCE_PRECISION_HINT"] = precision
    request = openvino.Core().compile_model(read, "CPU", config).create_infer_request()
    for value in read.inputs:
        name = value.get_any_name()
        request.set_tensor(name, openvino.Tensor(np.ascontiguousarray(sample[name])))
    def run():
        request.start_async()
        request.wait()
    return run


def main():
    kind, model, sample, threads, *precision = sys.argv[1:]
    runner = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}[kind]
    run = runner(model, dict(np.load(sample)), int(threads), precision[0] if precision else "")
    run()
    print("ready", flush=True)
    for line in sys.stdin:
        run()  # brings weights back into the caches
        milliseconds, end = [], time.perf_counter() + float(line)
        while not milliseconds or time.perf_counter() < end:
            before = time.perf_counter()
            run()
            milliseconds.append((time.perf_counter() - before) * 1e3)
        print(json.dumps(milliseconds), flush=True)


if __name__ == "__main__":
    main()
