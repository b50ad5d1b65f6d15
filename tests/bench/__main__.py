"""Run every benchmark, one after the other; the run `default/mini` must be complete (`make demo` makes it)."""

import subprocess
import sys
from pathlib import Path

NOT_BENCHMARKS = frozenset({"__main__", "record"})


def main() -> int:
    """0 if every script ran; what a figure says is for the page to tell."""
    scripts = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    failed = []
    for script in scripts:
        print(f"== {script}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.bench.{script}"], check=False).returncode:
            failed.append(script)
    for script in failed:
        print(f"benchmark {script} could not run", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
