"""The page with a server: your own pictures, and a model that is too large for the page.

GET  /                  the page
GET  /api/payload       what it shows (payload.Payload)
POST /api/images        a picture in the body: its answers (Answers); nothing is stored
POST /api/predict       a picture, as the body or as a file of a form: classes and answers in words;
                        ?known=QUESTION=ANSWER and ?among=CLASS, which may be given again, say what
                        is known before the first question, and which classes there are
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
import ipaddress
import logging
import re
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import torch
import uvicorn
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from jaxtyping import Float
from PIL import Image, UnidentifiedImageError
from pydantic import FailFast, Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from torch import Tensor

from infopursuit.core.errors import InputError, one_line
from infopursuit.datasets.decoding import DAMAGED, LimitedFile, UnreadableError, thumbnail, to_rgb
from infopursuit.explorer import payload
from infopursuit.explorer.annotating import Annotating
from infopursuit.explorer.contents import Mapper, joined_answers
from infopursuit.explorer.page import page, policy
from infopursuit.explorer.payload import Base64, Part, Thumbnail
from infopursuit.pursuit.known import classes_in_words, known_in_words
from infopursuit.pursuit.prediction import prediction
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule

logger = logging.getLogger("infopursuit")

T = TypeVar("T")

NOT_SURE = 0.5
# Pictures that wait for their turn, and those that are answered at once: as many as wait, up to
# this number, or until they have this many pixels.
MOST_WAITING, BATCH, BATCH_PIXELS = 200, 32, 32_000_000
# Seconds after which a client may try again, if the server has too much to do.
AGAIN = "5"
# Characters of the type of a body, and parts of a form up to its first file.
MAX_TYPE, MOST_PARTS = 200, 20
BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]+)"|([^\s;"]+))', re.IGNORECASE)
# Ways of predicting that are kept, by what is known and by classes.
KEPT = 64
# Histories in one request, and numbers in one answer; the page asks for no more at once.
MOST = 4096
MOST_VALUES = 500_000
# A photo of a telephone has 3 to 15 MB and 12 to 50 million pixels.
MAX_BYTES = 20_000_000
MAX_PIXELS = 64_000_000
# Everything else that is sent is JSON, which is read at once.
MAX_JSON_BYTES = 2_000_000
# Bytes of all requests that are being answered, and of answers that are not yet taken.
MAX_BYTES_AT_ONCE = 20 * MAX_BYTES
# Seconds for the body of a request: 20 MB over 1.4 Mbit/s.
BODY_SECONDS = 120.0
# Connections at once; a browser keeps up to six open. Seconds for which an idle one is kept.
CONNECTIONS = 512
IDLE_SECONDS = 30
# Seconds for answers under way when the server ends.
GRACE = 3
# How often the server checks if a client has left, before it works for it.
LOOKS = 8
# Those that browsers show. Pillow's other decoders, some of which start programs, are not used.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")
# Where pictures are sent, and where a person answers questions about them.
PICTURES, PREDICT, ANNOTATIONS = "/api/images", "/api/predict", "/api/annotations"
BINARY = {"type": "string", "format": "binary"}
BODY = {f"image/{name.lower()}": {"schema": BINARY} for name in FORMATS}
FORM = {"multipart/form-data": {"schema": {"type": "object", "properties": {"image": BINARY}}}}
PICTURE: dict[str, Any] = {"requestBody": {"required": True, "content": BODY}}
PICTURE_OR_FORM: dict[str, Any] = {"requestBody": {"required": True, "content": FORM | BODY}}
STATUS = (400, 403, 404, 405, 408, 409, 413, 415, 421, 422, 500, 503)
ANYWHERE = ("0.0.0.0", "::")
# An answer leaves in pieces, so that what a client does not take yet is not copied for it.
PIECE = 1 << 16
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

# What may be given again in an address.
Texts = Annotated[Sequence[str], Query(max_length=1000)]


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
    """The answers of a person to all questions about pictures, and the file that has them."""

    file: str
    answers: list[PersonsAnswer | None]


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
) -> Guard:
    """Return the application, guarded; with `annotating` it asks about pictures."""
    app = FastAPI(
        title="infopursuit explorer",
        openapi_url="/api/schema.json",
        docs_url=None,  # they load scripts from another host
        redoc_url=None,
        responses={status: {"model": Failure} for status in STATUS},
    )
    # Encoded once: an answer copies neither.
    whole, written = page(content).encode(), payload.written(content).encode()
    worker = Worker()

    @app.get("/", response_class=HTMLResponse)
    async def get_page() -> HTMLResponse:
        return HTMLResponse(whole)

    @app.get("/api/payload", response_model=payload.Payload)
    async def get_payload() -> Response:
        return Response(written, media_type="application/json")

    @lru_cache(KEPT)
    def predicting(known: tuple[str, ...], among: tuple[str, ...]) -> Made[dict[str, Any]]:
        """Return the same for the same: such pictures are answered at once."""
        whole = model.pursuit
        given = known_in_words(whole, known), classes_in_words(whole, among)
        return partial(predictions, pursuit=whole.given(*given))

    async def of_picture(request: Request, make: Made[T]) -> T:
        if model.answer is None:
            raise HTTPException(
                409, "The CLIP of the model is not there; the server's log says why."
            )
        return await worker.of_picture(request, make, model, await request.body())

    @app.post(PICTURES, openapi_extra=PICTURE)
    async def post_picture(request: Request) -> Answers:
        return await of_picture(request, answer_pictures)

    @app.post(PREDICT, openapi_extra=PICTURE_OR_FORM)
    async def post_prediction(
        request: Request, known: Texts = (), among: Texts = ()
    ) -> Predictions:
        found = await of_picture(request, predicting(tuple(known), tuple(among)))
        return Predictions(predictions={content.model.name: found})

    @app.post("/api/steps", response_model=Steps)
    async def post_histories(asked: Histories, request: Request) -> Response:
        pursuit, count = model.pursuit, len(asked.histories)
        values = len(pursuit.queries) + len(pursuit.class_names)
        if count > 1 and count * values > MOST_VALUES:
            raise HTTPException(
                422,
                f"{count} histories are too many for {values} queries and classes; expected at "
                f"most {MOST_VALUES:,} values at once.",
            )
        steps = await worker.result(request, next_steps, pursuit, asked.histories)
        return Response(steps, media_type="application/json")

    if annotating is not None:
        _add_annotations(app, annotating, worker)
    for kind in (AnyHTTPException, RequestValidationError, InputError, ClientDisconnect, Exception):
        app.add_exception_handler(kind, _failure)
    return Guard(app, policy(served=True), names)


def _add_annotations(app: FastAPI, annotating: Annotating, worker: Worker) -> None:
    """Let a person answer questions about pictures."""

    def checked(place: int) -> int:
        if place not in range(len(annotating.asked)):
            raise HTTPException(404, f"There is no question {place}.")
        return place

    @app.get(ANNOTATIONS)
    async def get_annotations() -> Annotations:
        return Annotations.model_validate(
            {"file": str(annotating.path), "answers": annotating.answers()}
        )

    @app.get(ANNOTATIONS + "/{place}")
    async def get_question(place: int, request: Request) -> AskedOfPicture:
        asked = annotating.asked[checked(place)]
        try:
            picture = await worker.result(request, annotating.picture, place)
        except UnreadableError as error:
            raise HTTPException(409, f"{asked.image} cannot be read any more: {error}.") from error
        question = annotating.questions[place]
        return AskedOfPicture(question=question, image=asked.image, picture=picture)

    @app.post(ANNOTATIONS)
    async def post_answer(given: GivenAnswer) -> Annotations:
        checked(given.place)
        try:
            await asyncio.to_thread(annotating.answer, given.place, given.answer)
        except (InputError, OSError) as error:
            raise HTTPException(409, f"The answer is not saved: {error}.") from error
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
        status, sentence = 500, "The server failed; its log says why."
    return JSONResponse({"error": one_line(sentence)}, status, headers)


class Picture(NamedTuple):
    """A picture that was sent, and what it is called."""

    image: Image.Image
    name: str


# Makes the answer to each of some pictures.
Made = Callable[[Served, Sequence[Picture]], list[T]]


def answer_pictures(model: Served, pictures: Sequence[Picture]) -> list[Answers]:
    """Return the answers of the model to each picture."""
    assert model.answer is not None
    images, pursuit = [each.image for each in pictures], model.pursuit
    places: list[payload.Places | None] = [None] * len(pictures)
    with clip_at_work():
        answers = model.answer(images)
        said_yes = [(each > NOT_SURE).nonzero().flatten().tolist() for each in answers]
        if model.maps is not None and any(said_yes):
            for row, (yes, maps, seen) in enumerate(
                zip(said_yes, *model.maps(images), strict=True)
            ):
                if yes:
                    places[row] = payload.places(maps[yes], yes, seen)
    return [
        Answers(
            id=each.name,
            thumbnail=thumbnail(each.image),
            answers=joined_answers(pursuit, answers[row : row + 1]),
            places=places[row],
        )
        for row, each in enumerate(pictures)
    ]


def predictions(
    model: Served, pictures: Sequence[Picture], pursuit: Pursuit
) -> list[dict[str, Any]]:
    """Return what a pursuit of the model says of each picture, in words."""
    assert model.answer is not None
    images, names = zip(*pictures, strict=True)
    with clip_at_work():
        said = pursuit.explain(model.answer(images), model.stop, names)
        return [prediction(each) for each in said]


def answered(
    model: Served, make: Made[T], sent: Sequence[tuple[str, bytes]]
) -> list[T | Exception]:
    """Return the answers to the first pictures that were sent, or why there are none.

    As many are answered at once as memory allows. One that fails does not change another's answer.

    Args:
        model: answers them.
        make: makes the answers.
        sent: the types and the bodies of requests.
    """
    found: list[T | Exception | None] = []
    pictures: list[Picture] = []
    for kind, body in sent:
        try:
            content = sent_picture(kind, body)
            pictures.append(Picture(decoded(content), name_of(content)))
            found.append(None)
        except HTTPException as error:
            found.append(error)
        if sum(each.image.width * each.image.height for each in pictures) >= BATCH_PIXELS:
            break
    made = iter(_made(model, make, pictures))
    return [next(made) if each is None else each for each in found]


def _made(model: Served, make: Made[T], pictures: Sequence[Picture]) -> list[T | Exception]:
    try:
        return list(make(model, pictures)) if pictures else []
    except HTTPException as error:
        return [error] * len(pictures)
    except Exception as error:
        if len(pictures) == 1:
            return [error]
        return [each for alone in pictures for each in _made(model, make, [alone])]


@contextmanager
def clip_at_work() -> Iterator[None]:
    """Keep what a CLIP that fails says for the log, as it names paths of this machine."""
    try:
        yield
    except InputError as error:
        logger.error("a picture was not answered: %s", error)
        raise HTTPException(409, "The CLIP cannot be loaded; the server's log says why.") from error


def name_of(sent: bytes) -> str:
    """Return what a picture is called."""
    return f"your image {hashlib.sha256(sent).hexdigest()[:6]}"


def sent_picture(content_type: str, body: bytes) -> bytes:
    """Return the picture of a request: its body, or the first file of a form."""
    if not content_type.lower().startswith("multipart/form-data"):
        return body
    found = BOUNDARY.search(content_type)
    if found is not None:
        boundary = b"\r\n--" + (found[1] or found[2]).encode("latin-1")
        parts = (b"\r\n" + body).split(boundary, MOST_PARTS + 1)
        for part in parts[1 : MOST_PARTS + 1]:
            head, _, content = part.partition(b"\r\n\r\n")
            if b"filename" in head.lower():
                return content
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
    if len(content) > MAX_BYTES:
        raise _too_large(MAX_BYTES)
    pixels = f"expected at most {MAX_PIXELS // 10**6} million."
    try:
        Image.init()  # an older Pillow has no AVIF
        known = [name for name in FORMATS if name in Image.OPEN]
        with Image.open(LimitedFile(content), formats=known) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
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


def _too_busy() -> HTTPException:
    sentence = "The server has too much to do; try again in a moment."
    return HTTPException(503, sentence, {"Retry-After": AGAIN})


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"This is too large; expected at most {most // 10**6} MB.")


# -- work -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Waiting(Generic[T]):
    """A picture that waits for its turn."""

    request: Request
    make: Made[T]
    body: bytes
    outcome: T | Exception | None = None


class Worker:
    """Does the work of requests in the order asked: one at a time, or pictures at once.

    A picture takes memory, and all cores. All work is done in the same thread, because each further
    thread would hold its own memory. Pictures that came while others were answered are answered
    together: CLIP and the model take little longer for some than for one.
    """

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "model")
        self.turn = asyncio.Lock()
        self.waiting: list[Waiting[Any]] = []

    async def result(self, request: Request, make: Callable[..., T], *given: object) -> T:
        """Return what `make` returns for `given`.

        Raises:
            ClientDisconnect: the client left before its turn came, so the work was not done. It
                would make those who are still there wait.
        """
        async with self.turn:
            if await _has_left(request):
                raise ClientDisconnect
            return await self._run(make, *given)

    async def of_picture(self, request: Request, make: Made[T], model: Served, body: bytes) -> T:
        """Return what `make` returns for a picture, alone or with others that wait.

        Raises:
            ClientDisconnect: as above.
            HTTPException: too many wait, or there is no answer to this picture.
        """
        if len(self.waiting) >= MOST_WAITING:
            raise _too_busy()
        mine = Waiting(request, make, body)
        self.waiting.append(mine)
        try:
            async with self.turn:
                while mine.outcome is None:
                    await self._answer_first(make, model)
        finally:
            self.waiting.remove(mine)
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome

    async def _answer_first(self, make: Made[Any], model: Served) -> None:
        """Answer the first of the pictures that wait for this."""
        wanted = [each for each in self.waiting if each.outcome is None and each.make is make]
        there = []
        for each in wanted[:BATCH]:
            if await _has_left(each.request):
                each.outcome = ClientDisconnect()
            else:
                there.append(each)
        sent = [(each.request.headers.get("content-type", ""), each.body) for each in there]
        outcomes = await self._run(answered, model, make, sent)
        for each, outcome in zip(there, outcomes, strict=False):  # the others wait on
            each.outcome = outcome

    async def _run(self, make: Callable[..., T], *given: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, make, *given)


async def _has_left(request: Request) -> bool:
    """Whether a client has left. It may have sent more bytes before: each look reads some."""
    for _ in range(LOOKS):
        if await request.is_disconnected():
            return True
        await asyncio.sleep(0)
    return False


# -- middleware ------------------------------------------------------------------------------


class Guard:
    """Refuses other hosts, other sites and large bodies, and adds headers to every answer.

    A page of another site could let its own name lead to this machine (DNS rebinding), and would
    then be of the same site as this server. Its requests still carry that name: only addresses in
    numbers, `localhost` and names that were allowed are answered. (starlette's
    TrustedHostMiddleware knows no "any address in numbers", and splits IPv6 addresses.)
    """

    def __init__(self, app: ASGIApp, policy: str, names: Collection[str] = ()) -> None:
        self.app = app
        self.headers = {**HEADERS, "Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        self.names = {"localhost", *(name.lower() for name in names)}
        self.held = 0  # bytes of the bodies of requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_in_pieces(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            elif message["type"] == "http.response.body":
                body, more = memoryview(message.get("body", b"")), message.get("more_body", False)
                own = len(body) if scope["path"].startswith("/api/") else 0  # the page is shared
                self.held += own
                try:
                    while len(body) > PIECE:
                        piece, body = body[:PIECE], body[PIECE:]
                        await send({"type": message["type"], "body": piece, "more_body": True})
                    await send({"type": message["type"], "body": body, "more_body": more})
                finally:
                    self.held -= own
                return
            await send(message)

        most = MAX_BYTES if scope["path"] in (PICTURES, PREDICT) else MAX_JSON_BYTES
        refusal = self._refusal(Headers(scope=scope), most)
        if refusal is not None:
            answer = JSONResponse({"error": refusal.detail}, refusal.status_code, refusal.headers)
            await answer(scope, receive, send_in_pieces)
            return
        body = _Body(self, receive, most)
        try:
            await self.app(scope, body.receive, send_in_pieces)
        finally:
            self.held -= body.taken

    def _refusal(self, headers: Headers, most: int) -> HTTPException | None:
        host = headers.get("host", "")
        if not self._is_known(host):
            return HTTPException(
                421,
                f"This server is not called {host[:100]!r}; start it with --allow and that name.",
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return HTTPException(403, "The request comes from a page of another site.")
        if self.held > MAX_BYTES_AT_ONCE:
            return _too_busy()
        if len(headers.get("content-type", "")) > MAX_TYPE:
            return HTTPException(400, f"The type of what is sent has over {MAX_TYPE} characters.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return _too_large(most)
        return None

    def _is_known(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name = parts.hostname
            if name is None or parts.netloc != host or "@" in host:
                return False
            return name in self.names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


class _Body:
    """The body of a request, as long as it keeps to the limits; its length may be unknown."""

    def __init__(self, guard: Guard, receive: Receive, most: int) -> None:
        self.guard = guard
        self.source = receive
        self.most = most
        self.taken = 0
        self.whole = False
        self.ends = asyncio.get_running_loop().time() + BODY_SECONDS

    async def receive(self) -> Message:
        """Return the next part; after the last one, that the client has left."""
        if self.whole:
            return await self.source()
        try:
            async with asyncio.timeout_at(self.ends):
                message: Any = await self.source()
        except TimeoutError as error:
            reason = f"The request took longer than {BODY_SECONDS:.0f} seconds to arrive."
            raise HTTPException(408, reason, {"Connection": "close"}) from error
        size = len(message.get("body", b""))
        self.taken += size
        self.guard.held += size
        self.whole = not message.get("more_body", False)
        if self.taken > self.most:
            raise _too_large(self.most)
        if self.guard.held > MAX_BYTES_AT_ONCE:
            raise _too_busy()
        return message


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
    """Logs where the server is once it is up."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            logger.info("explore at %s (Ctrl-C ends it)", address(sockets[0]))


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    with listening:
        _Announcing(configured(app)).run(sockets=[listening])
