"""One rank of the learner, as torchrun's agent starts it.

Rank 0 answers HTTP from its first moment: its servers and the proofs run in a thread of their own. An error that trying
again cannot cure stays readable in the status for a while before the process ends; any other ends it at once. Either
way torchrun ends the group.
"""

import asyncio
import ctypes
import logging
import os
import signal
import threading
import time
import uuid
from functools import partial
from pathlib import Path

from aiohttp import web

from spade_contracts.errors import SpadeError
from spade_contracts.exit_codes import ExitCode
from spade_contracts.resources import Reason
from spade_contracts.statuses import EngineProof, LearnerState
from spade_trainer.learner.board import Board
from spade_trainer.learner.engines import keep_proven
from spade_trainer.learner.figures import Figures, new_figures
from spade_trainer.learner.neighbours import MakeClient, Neighbours
from spade_trainer.learner.replay import ReplayDiverged
from spade_trainer.learner.server import control_app, open_app
from spade_trainer.learner.settings import Settings, read_settings
from spade_trainer.store import layout, manifests, timings
from spade_trainer.store.objects import Store, open_store
from spade_trainer.store.room import storage_full
from spade_trainer.weights.engine_client import EngineClient
from spade_trainer.weights.files import FileTransport

LINGER_SECONDS = 60.0
"""How long a failed learner can still be asked why."""
TERMINATION_LOG = Path("/dev/termination-log")
MAX_ERROR = 2000
PR_SET_PDEATHSIG = 1
log = logging.getLogger("spade_learner")


def run_rank(*arguments: str) -> None:
    """Entry point of every rank, with the console script's arguments; never returns."""
    rank = int(os.environ["RANK"])
    form = f"%(asctime)s %(levelname)s %(name)s[{rank}]: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, force=True)
    _own_signals()
    settings = read_settings(arguments)
    if rank == 0:
        board, figures = Board(uuid.uuid4().hex), new_figures()
        _serve_in_thread(settings, board, figures)
    else:
        board, figures = None, None
    try:
        _work(settings, board, figures)
    except SpadeError as error:
        log.error("%s", error)
        if board is not None:
            _show(board, error)
        if error.permanent:
            time.sleep(LINGER_SECONDS)
        _end(1)
    except Exception as error:
        full = storage_full(settings.task.run.storage_uri, error)
        log.exception("rank %d failed%s", rank, f": {full}" if full is not None else "")
        if full is not None:
            _leave_message(str(full))
            _end(ExitCode.STORAGE_FULL)
        _end(1)
    _end(0)


def _work(settings: Settings, board: Board | None, figures: Figures | None) -> None:
    """Build this rank's share and work until an error. Torch and Megatron are imported here."""
    store = open_store(settings.task.run.storage_uri)
    run = manifests.read_run(store)
    from spade_trainer.learner import backend
    from spade_trainer.learner.conductor import Conductor
    from spade_trainer.learner.group import Group

    joined = backend.start(
        local_rank=int(os.environ["LOCAL_RANK"]),
        collective_seconds=settings.collective_seconds,
        command_seconds=settings.command_seconds,
    )
    group = Group(store, run, joined)
    if board is None or figures is None:
        group.listen()
        return
    log.info("ready at policy %d", group.version)
    Conductor(
        store,
        group,
        board,
        figures,
        keep_policies=settings.task.keep_policies,
        keep_checkpoints=settings.task.keep_checkpoints,
        neighbours=Neighbours(engine_clients(settings)) if settings.task.colocated else None,
        keep_episodes=settings.task.keep_episodes,
    ).run()


def _serve_in_thread(settings: Settings, board: Board, figures: Figures) -> None:
    """Start rank 0's servers and proofs; returns when the ports are open. A fault of that thread ends the process."""
    opened = threading.Event()

    def serve() -> None:
        try:
            asyncio.run(_serve(settings, board, figures, opened))
        except BaseException:
            log.exception("the server thread failed")
        _end(1)

    threading.Thread(target=serve, name="servers", daemon=True).start()
    opened.wait()


async def _serve(settings: Settings, board: Board, figures: Figures, opened: threading.Event) -> None:
    for app, port in (
        (open_app(board, figures), settings.status_port),
        (control_app(board, settings.learner_token_digest()), settings.control_port),
    ):
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, settings.host, port).start()
    opened.set()
    await keep_proven(
        board,
        engine_clients(settings),
        FileTransport(),
        figures,
        partial(_time_proof, open_store(settings.task.run.storage_uri)),
    )


def engine_clients(settings: Settings) -> MakeClient:
    """What makes the client of an engine's host. Raises InvalidInput if the token is not mounted."""
    token = settings.engine_token()
    return lambda session, host: EngineClient(
        session,
        host,
        token,
        control_port=settings.engine_control_port,
        status_port=settings.engine_status_port,
    )


def _time_proof(store: Store, proof: EngineProof) -> None:
    """Keep the seconds of a proof beside the policy that it is about."""
    seconds = {"transfer": proof.transfer_seconds, "proof": proof.proof_seconds}
    timings.write(store, layout.policy_folder(proof.policy_version), f"proof-{proof.name}", seconds)


def _show(board: Board, error: SpadeError) -> None:
    """Say in the status and in the pod's termination message why the learner fails."""
    text = str(error)[:MAX_ERROR]
    rollout = error.rollout if isinstance(error, ReplayDiverged) else None
    board.change(work=LearnerState.FAILED, error=text, replay_diverged=rollout, failure=_failure(error))
    _leave_message(text)


def _leave_message(text: str) -> None:
    """The pod's last words, where there is a place for them."""
    try:
        if TERMINATION_LOG.exists():
            TERMINATION_LOG.write_text(text)
    except OSError as failure:
        log.warning("no termination message: %s", failure)


def _failure(error: SpadeError) -> str:
    """The reason that the run fails for, or '' when another attempt may succeed."""
    if not error.permanent:
        return ""
    if isinstance(error, ReplayDiverged):
        return Reason.REPLAY_DIVERGED.value
    # By name, because its module imports torch, which may be what failed.
    return (Reason.NON_FINITE if type(error).__name__ == "StepNotFinite" else Reason.JOB_FAILED).value


def _end(code: int) -> None:
    """End now: a thread that waits in a collective would hold up an orderly exit."""
    logging.shutdown()
    os._exit(code)


def _own_signals() -> None:
    """End at once on SIGTERM, which costs nothing because storage is safe, and when the agent dies, however it dies."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
