"""The page with a server: one's own pictures, and models that are too large for the page.

GET  /                  the page
GET  /api/payload       what it shows (payload.Payload)
POST /api/images        a picture in the body: its answers (api.Answers); nothing is stored
POST /api/steps         histories: what a model makes of them (api.Steps)
GET  /api/schema.json   all of this as OpenAPI

A request that is refused gets {"error": "one sentence"}.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from jaxtyping import Float
from PIL import Image
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.api import MOST_VALUES, Answers, Failure, Histories, Steps, Told
from infopursuit.explorer.described_model import joined_answers
from infopursuit.explorer.guard import PICTURES, Guard
from infopursuit.explorer.page import page, policy
from infopursuit.explorer.shown_images import thumbnail
from infopursuit.explorer.thoughts import thoughts
from infopursuit.explorer.uploads import FORMATS, UploadError, decoded
from infopursuit.pursuit.pursuit import Pursuit

logger = logging.getLogger("infopursuit")

STATUS = (400, 403, 404, 405, 408, 409, 413, 415, 421, 422, 500, 503)
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
    # Encoded once: an answer copies neither.
    whole, written = page(content).encode(), payload.written(content).encode()
    # One at a time, in the order asked: a picture takes memory, and all cores. Always in the same
    # thread: each thread would keep memory of its own.
    worker = ThreadPoolExecutor(1, "model")

    @app.get("/", response_class=HTMLResponse)
    async def shown() -> HTMLResponse:
        return HTMLResponse(whole)

    @app.get("/api/payload", response_model=payload.Payload)
    async def all_content() -> Response:
        return Response(written, media_type="application/json")

    @app.post(PICTURES, openapi_extra=PICTURE)
    async def answered(request: Request) -> Answers:
        if any(model.answer is None for model in models):
            raise HTTPException(409, blind or "The model does not know its CLIP.")
        sent = await request.body()
        return await asyncio.get_running_loop().run_in_executor(worker, _answers, models, sent)

    @app.post("/api/steps", response_model=Steps)
    async def thought(asked: Histories) -> Response:
        if asked.model >= len(models):
            raise HTTPException(422, f"There is no model {asked.model}.")
        pursuit, count = models[asked.model].pursuit, len(asked.histories)
        if count > 1 and count * len(pursuit.queries) > MOST_VALUES:
            raise HTTPException(
                422,
                f"{count} histories are too many for {len(pursuit.queries)} queries; expected at "
                f"most {MOST_VALUES:,} values at once.",
            )
        loop = asyncio.get_running_loop()
        steps = await loop.run_in_executor(worker, _steps, pursuit, asked.histories)
        return Response(steps, media_type="application/json")

    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(InputError, _malformed)
    app.add_exception_handler(UploadError, _refused)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _failed)
    return Guard(app, policy(served=True), names)


def _answers(models: Sequence[Served], sent: bytes) -> Answers:
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


def _steps(pursuit: Pursuit, histories: Sequence[Sequence[Told]]) -> str:
    """As JSON at once: the numbers take ten times its memory."""
    return Steps(steps=thoughts(pursuit, histories)).model_dump_json()


def _failure(message: str, status: int) -> JSONResponse:
    return JSONResponse({"error": message}, status)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, UploadError):
        return _failure(str(error), error.status)
    assert isinstance(error, AnyHTTPException)
    said = {404: "There is nothing here.", 405: "This cannot be asked in this way."}
    return JSONResponse(
        {"error": said.get(error.status_code, str(error.detail))}, error.status_code, error.headers
    )


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return _failure(f"The request is malformed: {where}: {first['msg']}.", 422)
    return _failure(f"The request is malformed: {error}.", 422)


async def _left(request: Request, error: Exception) -> JSONResponse:
    """Nobody hears it; that someone has left is no fault of the server."""
    return _failure("The request was not sent to its end.", 400)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    """Whoever runs the server sees the traceback in its log."""
    return _failure("The server failed; its log says why.", 500)
