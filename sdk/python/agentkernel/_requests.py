"""Requests, as far as they are the same with and without `async`."""

import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict
from urllib.parse import quote

from ._errors import ApiError, TransportError
from ._options import CopyOptions, CreateOptions, ExecOptions, RunOptions

DEFAULT_COMMAND_MS = 30_000.0
"""The server's own time limit of a command, where none is named."""
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 30.0
"""Whoever is told to wait for longer decides about it."""


class CallOptions(TypedDict, total=False):
    request_timeout_ms: float
    """For this call, instead of the client's."""


class RunCall(RunOptions, CallOptions):
    """A command in a sandbox of its own."""


class ExecCall(ExecOptions, CallOptions):
    """A command in a sandbox that stays."""


class CreateCall(CreateOptions, CallOptions):
    """A sandbox that stays."""


class CopyCall(CopyOptions, CallOptions):
    """A sandbox that begins as a copy."""


class BatchCommand(RunOptions):
    command: Sequence[str]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    content: bytes | None = None
    command_ms: float = 0.0
    """Time limits of the commands that it is about."""
    timeout_ms: float | None = None


def command_body(command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(command, str | bytes):
        raise TypeError('a command is a list of words, such as ["echo", "hello"]; for a shell: ["sh", "-c", "…"]')
    body = {"command": list(command), **options}
    body.pop("request_timeout_ms", None)
    if isinstance(body.get("stdin"), bytes):
        body["stdin"] = base64.b64encode(body["stdin"]).decode()
        body["stdin_encoding"] = "base64"
    return body


def command_request(path: str, command: Sequence[str], options: Mapping[str, Any]) -> Request:
    body = command_body(command, options)
    command_ms = float(body.get("timeout_ms", DEFAULT_COMMAND_MS))
    return Request("POST", path, json=body, command_ms=command_ms, timeout_ms=options.get("request_timeout_ms"))


def stream_request(path: str, command: Sequence[str], options: Mapping[str, Any]) -> Request:
    """Its time counts from one sign of life to the next."""
    return Request("POST", path, json=command_body(command, options), timeout_ms=options.get("request_timeout_ms"))


def create_request(name: str, options: Mapping[str, Any]) -> Request:
    return copy_request("/sandboxes", name, options)


def copy_request(path: str, name: str, options: Mapping[str, Any]) -> Request:
    body = {"name": name, **options}
    return Request("POST", path, timeout_ms=body.pop("request_timeout_ms", None), json=body)


def snapshot_path(name: str) -> str:
    return f"/snapshots/{quote(name, safe='')}"


def sandbox_path(name: str) -> str:
    return f"/sandboxes/{quote(name, safe='')}"


def file_path(sandbox: str, path: str) -> str:
    absolute = path if path.startswith("/") else f"/workspace/{path}"
    return f"{sandbox}/files/{quote(absolute[1:])}"


def pause_before_retry(error: Exception, method: str, attempt: int) -> float | None:
    """
    How many seconds to wait before the request is sent once more; None: it is not. It may be where nothing of it reached
    the server, where the server refused it before doing anything, and where it only reads. Never a command that may have
    run.
    """
    if isinstance(error, TransportError):
        return _back_off(attempt) if error.unsent or method == "GET" else None
    if not isinstance(error, ApiError):
        return None
    if error.code != "too_many_requests" and not (method == "GET" and error.status in (429, 502, 503, 504)):
        return None
    pause_s = _back_off(attempt) if error.retry_after_ms is None else error.retry_after_ms / 1000
    return None if pause_s > _MAX_PAUSE_S else pause_s


def _back_off(attempt: int) -> float:
    return float(_FIRST_PAUSE_S * 2**attempt * random.uniform(0.5, 1.0))
