"""Entry point of a sandbox pod: `python -m spade_sandbox.pod`."""

import logging
import os
import sys

import uvloop

from spade_contracts.errors import InvalidInput
from spade_sandbox.pod.server import run_pod
from spade_sandbox.pod.settings import read_settings
from spade_sandbox.pod.supervisor import PodBroken

MISCONFIGURED, BROKEN = 2, 1


def main() -> None:
    """Run the pod; exit code 2 for a wrong setting, 1 when the pod broke, 0 after draining."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for library in ("websockets", "picows"):
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        uvloop.run(run_pod(read_settings(os.environ)))
    except InvalidInput as error:
        logging.getLogger("spade.sandbox").error("%s", error)
        sys.exit(MISCONFIGURED)
    except PodBroken as error:
        logging.getLogger("spade.sandbox").error("%s", error)
        sys.exit(BROKEN)


if __name__ == "__main__":
    main()
