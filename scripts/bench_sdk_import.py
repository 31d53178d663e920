"""What `import parley.sdk` costs beside `import pydantic, httpx`, in fresh processes that take turns.

    .venv/bin/python -m scripts.bench_sdk_import

The promise is at most 1.2 times; `from parley.sdk import Client` is measured too.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

ROUNDS = 9
BASE = "import pydantic, httpx"
MEASURED = {
    "nothing": "pass",
    BASE: BASE,
    "the same, a first model, asyncio": "import asyncio, httpx; from pydantic import BaseModel, Field",
    "import parley.sdk": "import parley.sdk",
    "from parley.sdk import Client": "from parley.sdk import Client",
    "from parley.sdk import evaluate": "from parley.sdk import evaluate",
}


def seconds(code: str) -> float:
    """CPU time of one process, begun and ended: what else runs on the machine counts less."""
    before = _children_s()
    subprocess.run([sys.executable, "-c", code], check=True)
    return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print medians and ratios, the bare interpreter taken off."""
    taken: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(ROUNDS):
        for name, code in MEASURED.items():
            taken[name].append(seconds(code))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    bare = medians.pop("nothing")
    for name, median in medians.items():
        ratio = (median - bare) / (medians[BASE] - bare)
        print(f"{name:<34} {1000 * (median - bare):7.0f} ms  {ratio:5.2f}")


if __name__ == "__main__":
    main()
