"""Requests to one server: with its key, within their time, and sent again where that is safe."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

import httpx
from time import sleep

from .._answers import data_in, read_as, refusal_in
from .._errors import AgentKernelError, RequestTimeoutError, TransportError
from .._place import START_HINT, Place, find_place
from .._requests import Request, pause_before_retry

T = TypeVar("T")


class Connection:
    def __init__(self, base_url: str | None, api_key: str | None, request_timeout_ms: float, max_retries: int) -> None:
        self._place = find_place(base_url)
        self._key = api_key or os.environ.get("AGENTKERNEL_API_KEY")
        self._request_timeout_ms = request_timeout_ms
        self._max_retries = max_retries
        self._http = httpx.Client(
            base_url=self._place.url,
            transport=httpx.HTTPTransport(uds=self._place.socket, limits=httpx.Limits(keepalive_expiry=4)),
            # A redirect would take the key elsewhere.
            follow_redirects=False,
        )

    def data(self, request: Request, kind: type[T]) -> T:
        """What is in the envelope, as a result of this kind."""
        return read_as(kind, data_in(self.content(request)))

    def plain_data(self, request: Request) -> object:
        return data_in(self.content(request))

    def content(self, request: Request) -> bytes:
        response = self._open(request)
        try:
            with _own_errors(self._place):
                return response.read()
        finally:
            response.close()

    def chunks(self, request: Request) -> Generator[bytes, None, None]:
        response = self._open(request)
        try:
            with _own_errors(self._place):
                for chunk in response.iter_bytes():
                    yield chunk
        finally:
            response.close()

    def close(self) -> None:
        self._http.close()

    def _open(self, request: Request) -> httpx.Response:
        """An answer that is not an error, and of which only the head was read."""
        attempt = 0
        while True:
            try:
                return self._send(request)
            except AgentKernelError as error:
                pause_s = pause_before_retry(error, request.method, attempt) if attempt < self._max_retries else None
                if pause_s is None:
                    raise
            attempt += 1
            sleep(pause_s)

    def _send(self, request: Request) -> httpx.Response:
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
            response = self._http.send(wire, stream=True)
            if response.status_code < 300:
                return response
            try:
                content = response.read()
            finally:
                response.close()
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
