"""The page with a server: your own pictures, and a model that is too large for the page.

GET  /                  the page
GET  /api/payload       what it shows (payload.Payload)
POST /api/images        a picture in the body: its answers (Answers); nothing is stored
POST /api/predict       a picture, as the body or as a file of a form: classes and answers in words;
                        ?known=QUESTION=ANSWER and ?classes=CLASS, which may be given again, say
                        what is known before the first question, and which classes there are
POST /api/steps         histories: what a model makes of them (Steps)
GET  /api/annotations   of `infopursuit annotate`: the answers so far (Annotations)
GET  /api/annotations/N a question about a picture (AskedOfPicture)
POST /api/annotations   an answer to one (GivenAnswer): it is saved
GET  /api/schema.json   all of this as OpenAPI

A request that is refused gets {"error": "one sentence"}.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import torch
import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from jaxtyping import Float
from PIL import Image, UnidentifiedImageError
from pydantic import FailFast, Field
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.formparsers import MultiPartParser
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp
from torch import Tensor

from infopursuit.core.errors import InputError, explain_os_error, is_user_error, one_line
from infopursuit.datasets.decoding import DAMAGED, LimitedFile, UnreadableError, thumbnail, to_rgb
from infopursuit.explorer import payload
from infopursuit.explorer.annotating import Annotating
from infopursuit.explorer.contents import Mapper, joined_answers
from infopursuit.explorer.page import page, policy
from infopursuit.explorer.payload import Base64, Part, Thumbnail
from infopursuit.pursuit.known import LONGEST, classes_in_words, known_in_words
from infopursuit.pursuit.prediction import prediction
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule

logger = logging.getLogger("infopursuit")

T = TypeVar("T")

NOT_SURE = 0.5
# Histories in one request, and numbers in one answer; the page asks for no more at once.
MOST = 4096
MOST_VALUES = 500_000
# A photo of a telephone has 3 to 15 MB and 12 to 50 million pixels.
MAX_BYTES = 20_000_000
MAX_PIXELS = 64_000_000
# Pixels are decoded row by row: 64 million rows take seconds. A JPEG has no longer sides.
MAX_SIDE = 65_535
# Everything else that is sent is JSON, which is read at once.
MAX_JSON_BYTES = 2_000_000
# Parts of a form besides its file.
MOST_FIELDS = 20
# Connections at once; a browser keeps up to six open. Seconds for which an idle one is kept.
CONNECTIONS = 64
IDLE_SECONDS = 30
# Seconds for answers under way when the server ends.
GRACE = 3
# Those that browsers show. Pillow's other decoders, some of which start programs, are not used.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")
# Where pictures are sent, and where a person answers questions about them.
PICTURES, PREDICT, ANNOTATIONS = "/api/images", "/api/predict", "/api/annotations"
BINARY = {"type": "string", "format": "binary"}
BODY = {f"image/{name.lower()}": {"schema": BINARY} for name in FORMATS}
FORM = {"multipart/form-data": {"schema": {"type": "object", "properties": {"image": BINARY}}}}
PICTURE: dict[str, Any] = {"requestBody": {"required": True, "content": BODY}}
PICTURE_OR_FORM: dict[str, Any] = {"requestBody": {"required": True, "content": FORM | BODY}}
STATUS = (400, 403, 404, 405, 409, 411, 413, 415, 422, 500)
ANYWHERE = ("0.0.0.0", "::")
LOCAL = ("localhost", "127.0.0.1", "[::1]")
# The file of a form stays in memory: nothing that is sent is stored.
MultiPartParser.spool_max_size = MAX_BYTES
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


# -- what may be asked, and what is answered ------------------------------------------------

# What may be given again in an address, of which the server reads 64 KB.
Texts = Annotated[Sequence[Annotated[str, Field(max_length=LONGEST)]], Query(max_length=1000)]


class AskedQuestion(Part):
    """A question that was asked, and its answer from 0 (no) to 1 (yes)."""

    query: Annotated[int, Field(ge=0)]
    answer: Annotated[float, Field(ge=0, le=1)]


class Histories(Part):
    """Histories, each in the order asked."""

    # The first mistake is enough: to describe millions takes minutes.
    histories: Annotated[
        list[Annotated[list[AskedQuestion], FailFast()]],
        Field(min_length=1, max_length=MOST),
        FailFast(),
    ]


class Step(Part):
    """What the model makes of a history: the posterior, and the values of the queries left."""

    posterior: list[float]
    values: list[float | None]


class Steps(Part):
    """One step for each history."""

    steps: list[Step]


class Answers(Part):
    """The answers of a picture, as `payload.Image` has them."""

    id: str
    thumbnail: Thumbnail
    answers: Base64
    places: payload.Places | None


class Predictions(Part):
    """What the model, by its name, says of a picture, as `pursuit.prediction` has it."""

    predictions: dict[str, dict[str, Any]]


PersonsAnswer = Literal["yes", "no", "not sure"]


class Annotations(Part):
    """A person's answers, their file, and how many yes and no each question's text still lacks."""

    file: str
    answers: list[PersonsAnswer | None]
    lacking: list[tuple[int, int]]


class AskedOfPicture(Part):
    """A question, the name of a picture, and the picture."""

    question: str
    image: str
    picture: Thumbnail


class GivenAnswer(Part):
    """The answer to a question about a picture, by its number."""

    place: Annotated[int, Field(ge=0)]
    answer: PersonsAnswer


class Failure(Part):
    """Why a request was refused, in one sentence."""

    error: str


@dataclass(frozen=True)
class Served:
    """A model with what answers pictures for it.

    Attributes:
        pursuit: the fitted model.
        answer: computes the answers (n, k) of pictures; None if its CLIP is missing.
        maps: gives maps of pictures; None if there are none.
        stop: when it asks no more.
    """

    pursuit: Pursuit
    answer: Callable[[Sequence[Image.Image]], Float[Tensor, "n k"]] | None
    maps: Mapper | None = None
    stop: StoppingRule = DEFAULT_STOP


def server(
    model: Served,
    content: payload.Payload,
    names: Collection[str] = (),
    annotating: Annotating | None = None,
) -> FastAPI:
    """Return the application; with `annotating` it asks about pictures.

    Args:
        model: answers what is sent.
        content: what the page shows.
        names: hosts that it answers as, besides `localhost` and its numbers.
        annotating: the questions that a person answers.
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
    thread = ThreadPoolExecutor(1, "model")  # each further one would hold its own memory

    @app.get("/", response_class=HTMLResponse)
    async def get_page() -> HTMLResponse:
        return HTMLResponse(whole)

    @app.get("/api/payload", response_model=payload.Payload)
    async def get_payload() -> Response:
        return Response(written, media_type="application/json")

    @app.post(PICTURES, openapi_extra=PICTURE)
    async def post_picture(request: Request) -> Answers:
        return await _in_turn(thread, answers_of, model, await sent_picture(request))

    @app.post(PREDICT, openapi_extra=PICTURE_OR_FORM)
    async def post_prediction(
        request: Request, known: Texts = (), classes: Texts = ()
    ) -> Predictions:
        body = await sent_picture(request)
        answer = await _in_turn(thread, predicted, model, body, known, classes)
        return Predictions(predictions={content.model.name: answer})

    @app.post("/api/steps", response_model=Steps)
    async def post_histories(asked: Histories) -> Response:
        pursuit, count = model.pursuit, len(asked.histories)
        values = len(pursuit.queries) + len(pursuit.class_names)
        if count > 1 and count * values > MOST_VALUES:
            raise HTTPException(
                422,
                f"{count} histories are too many for {values} queries and classes; expected at "
                f"most {MOST_VALUES:,} values at once.",
            )
        steps = await _in_turn(thread, next_steps, pursuit, asked.histories)
        return Response(steps, media_type="application/json")

    if annotating is not None:
        _add_annotations(app, annotating, thread)
    for kind in (AnyHTTPException, RequestValidationError, InputError, ClientDisconnect):
        app.add_exception_handler(kind, _failure)
    headers = {
        **HEADERS,
        "Content-Security-Policy": f"{policy(served=True)}; frame-ancestors 'none'",
    }

    @app.middleware("http")
    async def guarded(request: Request, answer: Callable[..., Any]) -> Response:
        try:
            _check(request)
            response = await answer(request)
        except Exception as error:
            response = await _failure(request, error)
        response.headers.update(headers)
        return response

    # A page of another site could let its own name lead to this machine (DNS rebinding).
    hosts = [f"[{name}]" if ":" in name else name for name in names]
    if strange := [name for name in hosts if "*" in name]:
        raise InputError(f"--allow {strange[0]}: expected the name of one host")
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL, *hosts], www_redirect=False)
    return app


async def _in_turn(thread: ThreadPoolExecutor, make: Callable[..., T], *given: object) -> T:
    """Do the work of requests in the order asked, one at a time: a picture takes all cores."""
    return await asyncio.get_running_loop().run_in_executor(thread, make, *given)


def _check(request: Request) -> None:
    """Refuse pages of other sites, and bodies that are too large or do not say how large."""
    headers, host = request.headers, request.headers.get("host", "")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise HTTPException(403, "The request comes from a page of another site.")
    if "transfer-encoding" in headers:
        raise HTTPException(411, "The request does not say how long it is; expected its length.")
    most = MAX_BYTES if request.url.path in (PICTURES, PREDICT) else MAX_JSON_BYTES
    if int(headers.get("content-length", "0")) > most:
        raise HTTPException(413, f"This is too large; expected at most {most // 10**6} MB.")


def _add_annotations(app: FastAPI, annotating: Annotating, thread: ThreadPoolExecutor) -> None:
    def checked(place: int) -> int:
        if place not in range(len(annotating.asked)):
            raise HTTPException(404, f"There is no question {place}.")
        return place

    @app.get(ANNOTATIONS)
    async def get_annotations() -> Annotations:
        of_text = annotating.lacking()
        lacking = [of_text[row.text] for row in annotating.asked]
        given = {"file": str(annotating.path), "answers": annotating.answers()}
        return Annotations.model_validate({**given, "lacking": lacking})

    @app.get(ANNOTATIONS + "/{place}")
    async def get_question(place: int) -> AskedOfPicture:
        row = annotating.asked[checked(place)]
        try:
            picture = await _in_turn(thread, annotating.picture, place)
        except UnreadableError as error:
            raise HTTPException(409, f"{row.image} cannot be read any more: {error}.") from error
        question = annotating.questions[place]
        return AskedOfPicture(question=question, image=row.image, picture=picture)

    @app.post(ANNOTATIONS)
    async def post_answer(given: GivenAnswer) -> Annotations:
        checked(given.place)
        try:
            await asyncio.to_thread(annotating.answer, given.place, given.answer)
        except (InputError, OSError) as error:
            why: object = error
            if isinstance(error, OSError) and is_user_error(error):  # it may name the lock
                why = explain_os_error(error, annotating.path)
            raise HTTPException(409, f"The answer is not saved: {why}.") from error
        return await get_annotations()


async def _failure(request: Request, error: Exception) -> JSONResponse:
    """Answer with one sentence; the server's log has the tracebacks."""
    headers = None
    if isinstance(error, AnyHTTPException):
        status, headers = error.status_code, error.headers
        sentences = {404: "There is nothing here.", 405: "This cannot be asked in this way."}
        sentence = sentences.get(status, str(error.detail))
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        status, sentence = 422, f"The request is malformed: {where}: {first['msg']}."
    elif isinstance(error, InputError):
        status, sentence = 422, f"The request is malformed: {error}."
    elif isinstance(error, ClientDisconnect):  # no one is left to read the answer
        status, sentence = 400, "The request was not sent to its end."
    else:
        logger.error("the server failed", exc_info=error)
        status, sentence = 500, "The server failed; its log says why."
    return JSONResponse({"error": one_line(sentence)}, status, headers)


def answers_of(model: Served, sent: bytes) -> Answers:
    """Return the answers of the model to a picture."""
    picture, answers = _answered(model, sent)
    places, yes = None, (answers[0] > NOT_SURE).nonzero().flatten().tolist()
    if model.maps is not None and yes:
        ((maps, seen),) = zip(*model.maps([picture]), strict=True)
        places = payload.places(maps[yes], yes, seen)
    return Answers(
        id=name_of(sent),
        thumbnail=thumbnail(picture),
        answers=joined_answers(model.pursuit, answers),
        places=places,
    )


def predicted(
    model: Served, sent: bytes, known: Sequence[str], classes: Sequence[str]
) -> dict[str, Any]:
    """Return what the model says of a picture, in words, if something is known."""
    whole = model.pursuit
    pursuit = whole.given(known_in_words(whole, known), classes_in_words(whole, classes))
    (said,) = pursuit.explain(_answered(model, sent)[1], model.stop, [name_of(sent)])
    return prediction(said)


def _answered(model: Served, sent: bytes) -> tuple[Image.Image, Float[Tensor, "1 k"]]:
    """Return a picture and its answers; what a CLIP that fails says names paths: it is logged."""
    if model.answer is None:
        raise HTTPException(409, "The CLIP of the model is not there; the server's log says why.")
    picture = decoded(sent)
    try:
        return picture, model.answer([picture])
    except InputError as error:
        logger.error("a picture was not answered: %s", error)
        raise HTTPException(409, "The CLIP cannot be loaded; the server's log says why.") from error


def name_of(sent: bytes) -> str:
    """Return what a picture is called."""
    return f"your image {hashlib.sha256(sent).hexdigest()[:6]}"


async def sent_picture(request: Request) -> bytes:
    """Return the picture of a request: its body, or the file of a form."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return await request.body()
    async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
        for each in form.values():
            if isinstance(each, UploadFile):
                return await each.read()
    raise HTTPException(400, "The form has no file; expected one picture.")


@torch.no_grad()
def next_steps(pursuit: Pursuit, histories: Sequence[Sequence[AskedQuestion]]) -> str:
    """Return `Steps` as JSON, because the numbers would take ten times its memory."""
    k = len(pursuit.queries)
    answers = torch.zeros(len(histories), k)
    mask = torch.zeros_like(answers)
    for row, history in enumerate(histories):
        for asked in history:
            if asked.query >= k:
                raise InputError(f"no query {asked.query}; expected 0 to {k - 1}")
            if mask[row, asked.query]:
                raise InputError(f"the query {asked.query} occurs twice; expected it once")
            answers[row, asked.query], mask[row, asked.query] = asked.answer, 1
    answers, mask = answers.to(pursuit.device), mask.to(pursuit.device)
    posterior = pursuit.classifier(answers, mask).double().softmax(dim=1).tolist()
    outputs = pursuit.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
    values = pursuit.querier.values(outputs).masked_fill(mask > 0, -torch.inf).tolist()
    steps = [
        Step(
            posterior=of_classes,
            values=[None if value == -torch.inf else value for value in of_queries],
        )
        for of_classes, of_queries in zip(posterior, values, strict=True)
    ]
    return Steps(steps=steps).model_dump_json()


def decoded(content: bytes) -> Image.Image:
    """Return an upright 8-bit RGB image of what a stranger sent, which is never stored.

    The size is read from the header, before a pixel is decoded.
    """
    if not content:
        raise HTTPException(400, "Nothing was sent; expected one picture.")
    pixels = f"expected at most {MAX_PIXELS // 10**6} million, and {MAX_SIDE:,} a side."
    try:
        Image.init()  # an older Pillow has no AVIF
        known = [name for name in FORMATS if name in Image.OPEN]
        with Image.open(LimitedFile(content), formats=known) as image:
            width, height = image.size
            if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
                raise HTTPException(413, f"The picture has {width} x {height} pixels; {pixels}")
            return to_rgb(image)
    except UnidentifiedImageError as error:
        raise HTTPException(
            415,
            f"This is not a picture that can be read; expected {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}.",
        ) from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise HTTPException(413, f"The picture has far more pixels; {pixels}") from error
    except (UnreadableError, *DAMAGED) as error:
        raise HTTPException(422, "The picture is damaged; expected a whole file.") from error


# -- the server in action --------------------------------------------------------------------


def bound(host: str, port: int) -> socket.socket:
    """Return a socket for the server; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"--host {host} --port {port}: the server cannot listen there ({error}); expected "
            "another --port, or 0 for any that is free"
        ) from error


def address(listening: socket.socket) -> str:
    """Return what to type into a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ANYWHERE:
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def configured(app: ASGIApp) -> uvicorn.Config:
    """Return how the application is served: with limits, and few words."""
    # It warns of each piece that a client who has left does not take.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE,
    )


class _Announcing(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            logger.info("explore at %s (Ctrl-C ends it)", address(sockets[0]))


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    with listening:
        _Announcing(configured(app)).run(sockets=[listening])
