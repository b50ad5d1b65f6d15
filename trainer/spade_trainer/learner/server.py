"""Rank 0's two ports: the operator's target, and what everyone may see."""

from dataclasses import replace

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ValidationError

from spade_contracts.errors import SpadeError
from spade_contracts.statuses import LearnerState, LearnerTarget
from spade_contracts.tokens import token_matches
from spade_trainer.learner.board import Board, Situation
from spade_trainer.learner.figures import Figures

MAX_BODY_BYTES = 1 << 20


class TargetBehind(SpadeError):
    """A target below the version that the weights already are: versions only grow."""

    def __init__(self, wanted: int, version: int) -> None:
        super().__init__(f"target {wanted} is behind: the weights are policy {version}, and versions only grow")


def accept_target(now: Situation, target: LearnerTarget) -> Situation:
    """The situation with a new target. Raises TargetBehind for one that cannot be reached."""
    if now.policy_version is not None and target.policy_version < now.policy_version:
        raise TargetBehind(target.policy_version, now.policy_version)
    return replace(now, target=target)


def control_app(board: Board, token_sha256: str) -> web.Application:
    """`PUT /target`, behind the control token. Answers with the status."""

    async def put_target(request: web.Request) -> web.Response:
        scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not presented.isascii() or not token_matches(presented, token_sha256):
            return web.json_response({"error": "this port wants its bearer token"}, status=401)
        try:
            target = LearnerTarget.model_validate_json(await request.read())
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return web.json_response({"error": f"{where}: {first['msg']}"}, status=400)
        try:
            return _json(board.transform(lambda now: accept_target(now, target)).status())
        except TargetBehind as error:
            return web.json_response({"error": str(error)}, status=409)

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes([web.put("/target", put_target)])
    return app


def open_app(board: Board, figures: Figures) -> web.Application:
    """`GET /status`, `/healthz` and `/metrics`, for everyone the network lets through."""

    async def status(_: web.Request) -> web.Response:
        return _json(board.read().status())

    async def healthz(_: web.Request) -> web.Response:
        failed = board.read().work is LearnerState.FAILED
        return web.Response(text="failed\n" if failed else "alive\n", status=500 if failed else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(figures.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes([web.get("/status", status), web.get("/healthz", healthz), web.get("/metrics", metrics)])
    return app


def _json(model: BaseModel) -> web.Response:
    return web.Response(body=model.model_dump_json().encode(), content_type="application/json")
