"""Policies in forms that leave wfbench: a numpy-only agent, an ONNX model, a torch state dict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .agent import write_agent
from .layers import Exported
from .onnx_model import write_onnx
from .torch_state import write_torch

WRITERS: dict[str, Callable[[Path, Exported, dict[str, Any]], list[str]]] = {
    "agent": write_agent,
    "onnx": write_onnx,
    "torch": write_torch,
}
"""By format: writes a policy and what is said of it into a folder; returns the file names."""

__all__ = ["WRITERS", "Exported"]
