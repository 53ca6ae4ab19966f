"""The page with a server: one's own pictures, and models that are too large for the page.

GET  /                  the page
GET  /api/payload       what it shows (payload.Payload)
POST /api/images        a picture in the body: its answers (api.Answers); nothing is stored
POST /api/steps         histories: what a model makes of them (api.Steps)
GET  /api/schema.json   all of this as OpenAPI

A request that is refused gets {"error": "one sentence"}.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from jaxtyping import Float
from PIL import Image
from starlette.exceptions import HTTPException as AnyHTTPException
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.api import Answers, Failure, Histories, Steps
from infopursuit.explorer.described_model import joined_answers
from infopursuit.explorer.guard import Guard
from infopursuit.explorer.page import page, policy
from infopursuit.explorer.shown_images import thumbnail
from infopursuit.explorer.thoughts import thoughts
from infopursuit.explorer.uploads import FORMATS, UploadError, decoded
from infopursuit.pursuit.pursuit import Pursuit

logger = logging.getLogger("infopursuit")

STATUS = (400, 403, 404, 405, 409, 413, 415, 421, 422, 500)
PICTURE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {f"image/{name.lower()}": {"schema": {"format": "binary"}} for name in FORMATS},
    }
}


@dataclass(frozen=True)
class Served:
    """A model with what answers pictures for it.

    Attributes:
        pursuit: the fitted model.
        answer: the answers (1, k) of a picture; None where its CLIP is not there.
    """

    pursuit: Pursuit
    answer: Callable[[Image.Image], Float[Tensor, "1 k"]] | None


def server(
    models: Sequence[Served],
    content: payload.Payload,
    names: Collection[str] = (),
    blind: str | None = None,
) -> Guard:
    """The application, guarded.

    Args:
        models: those of the payload, in its order.
        content: what the page shows; `served` is true.
        names: by which browsers may call this server, beside `localhost` and its addresses.
        blind: why pictures are not taken, where a model cannot answer them.
    """
    app = FastAPI(
        title="infopursuit explorer",
        openapi_url="/api/schema.json",
        docs_url=None,  # they load scripts from another host
        redoc_url=None,
        responses={status: {"model": Failure} for status in STATUS},
    )
    whole, written = page(content), payload.written(content)
    one_at_a_time = Lock()

    @app.get("/", response_class=HTMLResponse)
    async def shown() -> HTMLResponse:
        return HTMLResponse(whole)

    @app.get("/api/payload", response_model=payload.Payload)
    async def all_content() -> Response:
        return Response(written, media_type="application/json")

    @app.post("/api/images", openapi_extra=PICTURE)
    async def answered(request: Request) -> Answers:
        if any(model.answer is None for model in models):
            raise HTTPException(409, blind or "The model does not know its CLIP.")
        sent = await request.body()
        return await run_in_threadpool(_answers, models, sent, one_at_a_time)

    @app.post("/api/steps")
    def thought(asked: Histories) -> Steps:
        if asked.model >= len(models):
            raise HTTPException(422, f"There is no model {asked.model}.")
        with one_at_a_time:
            return Steps(steps=thoughts(models[asked.model].pursuit, asked.histories))

    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(InputError, _malformed)
    app.add_exception_handler(UploadError, _refused)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, policy(served=True), names)


def _answers(models: Sequence[Served], sent: bytes, one_at_a_time: Lock) -> Answers:
    with one_at_a_time:  # a picture takes memory, and all cores
        picture = decoded(sent)
        answers = [
            joined_answers(model.pursuit, model.answer(picture))
            for model in models
            if model.answer is not None
        ]
        return Answers(
            id=f"your image {hashlib.sha256(sent).hexdigest()[:6]}",
            thumbnail=thumbnail(picture),
            answers=answers,
        )


def _failure(message: str, status: int) -> JSONResponse:
    return JSONResponse({"error": message}, status)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UploadError):
        return _failure(str(error), error.status)
    assert isinstance(error, AnyHTTPException)
    said = {404: "There is nothing here.", 405: "This cannot be asked in this way."}
    return _failure(said.get(error.status_code, str(error.detail)), error.status_code)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _failure(f"The request is malformed: {where}: {first['msg']}.", 422)
    return _failure(f"The request is malformed: {error}.", 422)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    """Whoever runs the server sees the traceback in its log."""
    return _failure("The server failed; its log says why.", 500)
