"""Answers of the server: out of JSON, out of the envelope, and into results and errors."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ._error_codes import error_classes
from ._errors import ApiError, BadAnswerError

T = TypeVar("T")


def data_in(content: bytes) -> object:
    body = _json(content)
    if not isinstance(body, dict) or body.get("success") is not True or "data" not in body:
        raise BadAnswerError("the answer has no data")
    return body["data"]


def refusal_in(content: bytes, status: int, retry_after: str | None) -> ApiError:
    body = _json(content)
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or "code" not in error or "message" not in error:
        raise BadAnswerError(f"the answer was {status}, and not in the form of agentkernel's errors")
    seconds = float(retry_after) if retry_after is not None and retry_after.isdigit() else None
    return api_error(error, status, None if seconds is None else seconds * 1000)


def api_error(error: Mapping[str, Any], status: int | None = None, retry_after_ms: float | None = None) -> ApiError:
    code = str(error["code"])
    return error_classes.get(code, ApiError)(
        str(error["message"]),
        code=code,
        status=status,
        hint=error.get("hint"),
        details=error.get("details"),
        retry_after_ms=retry_after_ms,
    )


def _json(content: bytes) -> object:
    try:
        parsed: object = json.loads(content)
    except ValueError as error:
        raise BadAnswerError("the answer is not JSON") from error
    return parsed


def read_as(kind: type[T], value: object) -> T:
    """The value as a result of this kind. Fields that this version does not know are left out."""
    read: T = _read(kind, value, kind.__name__)
    return read


def _read(kind: Any, value: object, at: str) -> Any:
    if kind is Any:
        return value
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in args:
            return None
        return _read(next(arg for arg in args if arg is not NoneType), value, at)
    if origin is list and isinstance(value, list):
        return [_read(args[0], one, f"{at}[]") for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: _read(args[1], one, f"{at}.{key}") for key, one in value.items()}
    if origin is Literal and isinstance(value, str):
        return value
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        made: Any = kind
        return made(**{name: _read(of, value.get(name), f"{at}.{name}") for name, of in _fields(made).items()})
    if kind is float and isinstance(value, int | float):
        return float(value)
    if origin is None and isinstance(kind, type) and isinstance(value, kind):
        return value
    raise BadAnswerError(f"{at} is missing from the answer, or is of another kind than it should be")


@cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
