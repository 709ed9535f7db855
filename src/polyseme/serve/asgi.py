"""The application: pages, endpoints and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from polyseme import __version__
from polyseme.serve.answers import json_answer, refused
from polyseme.serve.api import QUESTIONS as OWN_QUESTIONS
from polyseme.serve.api import Service
from polyseme.serve.compatible import openai_embeddings, openai_models, tei_embed, tei_info
from polyseme.serve.fields import Fields
from polyseme.serve.guard import Guard, read_body
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.listening import Listening
from polyseme.serve.metrics import Metrics
from polyseme.serve.openapi import describe_api
from polyseme.serve.pages import PageFile, read_pages
from polyseme.serve.served import Models
from polyseme.serve.worker import Worker

Endpoint = Callable[[Request], Awaitable[Response]]

#: Smaller answers fit into one packet anyway.
SMALLEST_TO_PACK = 1400

#: What can be asked with POST.
QUESTIONS = OWN_QUESTIONS | {"/v1/embeddings": openai_embeddings, "/embed": tei_embed}


def build_app(models: Models, where: Listening, *, limits: Limits) -> Starlette:
    """Everything that a server of these models answers."""
    metrics = Metrics()
    service = Service(models, Worker(limits, metrics), limits)
    pages = read_pages()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        models.build_indexes()
        yield
        service.worker.close()
        models.close()

    async def health(_: Request) -> Response:
        return json_answer({"status": "ok", "version": __version__})

    async def list_models(_: Request) -> Response:
        return json_answer({"models": [_shown(model.describe(), where) for model in models]})

    async def list_openai_models(_: Request) -> Response:
        return json_answer(openai_models(models))

    async def info(_: Request) -> Response:
        return json_answer(tei_info(service))

    async def openapi(_: Request) -> Response:
        return json_answer(describe_api(models, where, limits))

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    routes = [  # tried in this order, so what is asked most comes first
        *(Route(path, _question(service, path), methods=["POST"]) for path in QUESTIONS),
        *(Route(path, _page(file), methods=["GET"]) for path, file in pages.items()),
        Route("/health", health, methods=["GET"]),
        Route("/models", list_models, methods=["GET"]),
        Route("/v1/models", list_openai_models, methods=["GET"]),
        Route("/info", info, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
    if not where.public:  # what a server does is no business of its visitors
        routes.append(Route("/metrics", show_metrics, methods=["GET"]))
    guard = Middleware(
        Guard,
        metrics=metrics,
        where=where,
        open_to_all=frozenset([*pages, "/health"]),
        counted=frozenset(route.path for route in routes),
    )
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(where.origins),
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type"],
        expose_headers=["Polyseme-Tokens", "X-Request-ID", "Retry-After"],
    )
    gzip = Middleware(GZipMiddleware, minimum_size=SMALLEST_TO_PACK, compresslevel=1)
    return Starlette(
        routes=routes,
        middleware=[*([cors] if where.origins else []), gzip, guard],
        exception_handlers={HTTPException: _not_here, Exception: _failed},
        lifespan=lifespan,
    )


def _shown(described: dict[str, object], where: Listening) -> dict[str, object]:
    """Visitors of a public server are not told where its files are."""
    if not where.public:
        return described
    index = described["index"]
    assert isinstance(index, dict)
    return described | {"source": described["name"], "index": index | {"source": None}}


def _question(service: Service, path: str) -> Endpoint:
    async def answer(request: Request) -> Response:
        fields = Fields(await read_body(request, service.limits))
        return await QUESTIONS[path](service, fields)

    return answer


def _page(file: PageFile) -> Endpoint:
    async def answer(request: Request) -> Response:
        return file.answer(request)

    return answer


async def _not_here(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    path, method = request.scope["path"][:60], request.method[:12]  # not .url, which fails on a wrong Host
    said = f"{path!r} does not take {method}" if status == 405 else f"there is nothing at {path!r}"
    return refused(Refusal(status, f"{said}; see /docs for all requests", _headers(error)))


def _headers(error: Exception) -> dict[str, str]:
    return dict(getattr(error, "headers", None) or {})


async def _failed(_: Request, error: Exception) -> Response:
    return refused(Refusal(500, "the server failed to answer; its log says more"))
