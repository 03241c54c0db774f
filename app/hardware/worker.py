"""The worker process: a line of JSON in, a line of JSON out. It alone imports CuPy; the server never does. `--device
numpy` serves the NumPy reference.

First line out: {"ready": true, "devices": […]} or {"ready": false, "reason": …}. Then for each {"id", "request"} one
{"id", "result"} or {"id", "error": {code, message, hint, field}, "fatal": the CUDA context is lost}. After a fatal one
it exits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from lanescope.errors import LayoutError


def serve_requests(device_name: str) -> int:
    """Answer requests until standard input closes. Everything else that prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message, default=_encode_value) + "\n")
        answers.flush()

    from lanescope.app.hardware import pieces, runs
    from lanescope.app.hardware.device import CudaDevice, RunDevice, list_devices
    from lanescope.app.hardware.numpy_device import NumpyDevice

    try:
        devices = [] if device_name == "numpy" else list_devices()
        device: RunDevice = NumpyDevice() if device_name == "numpy" else CudaDevice(int(device_name))
    except LayoutError as error:
        say({"ready": False, "reason": f"{error.message} {error.hint}"})
        return 0
    say({"ready": True, "devices": devices})
    for line in sys.stdin:
        message = json.loads(line)
        try:
            request = message["request"]
            run = pieces.run_piece if request["kind"] == pieces.KIND else runs.execute_run
            say({"id": message["id"], "result": run(device, request)})
        except LayoutError as error:
            say({"id": message["id"], "error": error.to_json(), "fatal": False})
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:600]
            failure = LayoutError("run_failed", text, "The worker is started anew.")
            say({"id": message["id"], "error": failure.to_json(), "fatal": True})
            answers.close()
            os._exit(1)  # the context may be poisoned, and CuPy's clean-up would fail on it
    return 0


def _encode_value(value: Any) -> Any:
    """Encode NumPy arrays as lists, whole floats as they are."""
    return value.tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="0", help="a CUDA device's number, or numpy")
    parser.add_argument("--alone", action="store_true", help="see this device only, in what it starts, too")
    arguments = parser.parse_args()
    if arguments.alone:
        shown = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        number = int(arguments.device)
        os.environ["CUDA_VISIBLE_DEVICES"] = shown[number] if number < len(shown) and shown[0] else arguments.device
        arguments.device = "0"
    raise SystemExit(serve_requests(arguments.device))
