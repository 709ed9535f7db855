"""The application: pages, endpoints and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from polyseme import __version__
from polyseme.serve.answers import json_answer, refused
from polyseme.serve.api import QUESTIONS, Service
from polyseme.serve.fields import Fields
from polyseme.serve.guard import Guard, read_body
from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.metrics import Metrics
from polyseme.serve.pages import PageFile, read_pages
from polyseme.serve.served import Models
from polyseme.serve.worker import Worker

Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(models: Models, *, limits: Limits, token: str | None, local_only: bool) -> Starlette:
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
        return json_answer({"models": [model.describe() for model in models]})

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    routes = [
        *(Route(path, _page(file), methods=["GET"]) for path, file in pages.items()),
        *(Route(path, _question(service, path), methods=["POST"]) for path in QUESTIONS),
        Route("/health", health, methods=["GET"]),
        Route("/models", list_models, methods=["GET"]),
        Route("/metrics", show_metrics, methods=["GET"]),
    ]
    guard = Middleware(
        Guard,
        metrics=metrics,
        token=token,
        local_only=local_only,
        public=frozenset([*pages, "/health"]),
        counted=frozenset(route.path for route in routes),
    )
    return Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers={HTTPException: _not_here, Exception: _failed},
        lifespan=lifespan,
    )


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
    return refused(Refusal(status, f"{said}; what can be asked is listed at /docs", _headers(error)))


def _headers(error: Exception) -> dict[str, str]:
    return dict(getattr(error, "headers", None) or {})


async def _failed(_: Request, error: Exception) -> Response:
    return refused(Refusal(500, "the server failed to answer; its log says more"))
