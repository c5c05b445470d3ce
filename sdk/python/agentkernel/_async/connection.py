"""Requests to one server: with its key, within their time, and sent again where that is safe."""

import os
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import TypeVar

import httpx
from anyio import sleep

from .._answers import data_in, read_as, refusal_in
from .._errors import AgentKernelError, RequestTimeoutError, TransportError
from .._place import START_HINT, Place, find_place
from .._requests import Request, pause_before_retry

T = TypeVar("T")


class AsyncConnection:
    def __init__(self, base_url: str | None, api_key: str | None, request_timeout_ms: float, max_retries: int) -> None:
        self._place = find_place(base_url)
        self._key = api_key or os.environ.get("AGENTKERNEL_API_KEY")
        self._request_timeout_ms = request_timeout_ms
        self._max_retries = max_retries
        self._http = httpx.AsyncClient(
            base_url=self._place.url,
            transport=httpx.AsyncHTTPTransport(uds=self._place.socket, limits=httpx.Limits(keepalive_expiry=4)),
            # A redirect would take the key elsewhere.
            follow_redirects=False,
        )

    async def data(self, request: Request, kind: type[T]) -> T:
        """What is in the envelope, as a result of this kind."""
        return read_as(kind, data_in(await self.content(request)))

    async def plain_data(self, request: Request) -> object:
        return data_in(await self.content(request))

    async def content(self, request: Request) -> bytes:
        response = await self._open(request)
        try:
            with _own_errors(self._place):
                return await response.aread()
        finally:
            await response.aclose()

    async def chunks(self, request: Request) -> AsyncGenerator[bytes, None]:
        response = await self._open(request)
        try:
            with _own_errors(self._place):
                async for chunk in response.aiter_bytes():
                    yield chunk
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _open(self, request: Request) -> httpx.Response:
        """An answer that is not an error, and of which only the head was read."""
        attempt = 0
        while True:
            try:
                return await self._send(request)
            except AgentKernelError as error:
                pause_s = pause_before_retry(error, request.method, attempt) if attempt < self._max_retries else None
                if pause_s is None:
                    raise
            attempt += 1
            await sleep(pause_s)

    async def _send(self, request: Request) -> httpx.Response:
        own_ms = self._request_timeout_ms if request.timeout_ms is None else request.timeout_ms
        wire = self._http.build_request(
            request.method,
            request.path,
            params=dict(request.query) or None,
            json=request.json,
            content=request.content,
            timeout=(request.command_ms + own_ms) / 1000,
        )
        if key := self._key or self._place.local_token():
            wire.headers["authorization"] = f"Bearer {key}"
        if request.content is not None:
            wire.headers["content-type"] = "application/octet-stream"
        with _own_errors(self._place):
            response = await self._http.send(wire, stream=True)
            if response.status_code < 300:
                return response
            try:
                content = await response.aread()
            finally:
                await response.aclose()
        raise refusal_in(content, response.status_code, response.headers.get("retry-after"))


@contextmanager
def _own_errors(place: Place) -> Generator[None, None, None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise RequestTimeoutError("no answer came in time") from error
    except httpx.ConnectError as error:
        where = place.socket or place.url
        raise TransportError(f"{where} could not be reached: {error}. {START_HINT}", unsent=True) from error
    except httpx.TransportError as error:
        raise TransportError(f"the connection broke: {error}") from error
