"""Write a policy as an ONNX model: observations [N, features] to logits [N, actions]."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .layers import Exported

_OPSET, _IR = 17, 8
"""Old enough for every runtime that is still in use."""


def write_onnx(folder: Path, exported: Exported, said: dict[str, Any]) -> list[str]:
    """Write policy.onnx; what is said of the policy is its metadata."""
    try:
        onnx = import_module("onnx")
    except ImportError as error:
        raise UsageError("--to onnx needs the package onnx: pip install 'wfbench[onnx]'") from error
    make, numpy_helper = onnx.helper, onnx.numpy_helper
    nodes, constants, value = [], [], "obs"
    last = len(exported.layers) - 1
    for number, (weights, biases) in enumerate(exported.layers):
        names = [f"weights.{number}", f"biases.{number}"]
        constants += [
            numpy_helper.from_array(array, name)
            for array, name in zip((weights, biases), names, strict=True)
        ]
        result = "logits" if number == last else f"sum.{number}"
        nodes.append(make.make_node("Gemm", [value, *names], [result]))
        if number < last:
            value = f"hidden.{number}"
            nodes.append(make.make_node("Tanh", [result], [value]))
    ends = [
        make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
        for name, size in (("obs", exported.inputs), ("logits", exported.outputs))
    ]
    graph = make.make_graph(nodes, "policy", ends[:1], ends[1:], constants)
    model = make.make_model(
        graph,
        opset_imports=[make.make_opsetid("", _OPSET)],
        ir_version=_IR,
        producer_name="wfbench",
    )
    make.set_model_props(model, {"wfbench": json.dumps(said)})
    onnx.checker.check_model(model)
    (folder / "policy.onnx").write_bytes(model.SerializeToString())
    return ["policy.onnx"]
