"""What is heard of a command while it runs."""

import base64
import json
from dataclasses import dataclass
from typing import Literal

from ._answers import api_error
from ._errors import BadAnswerError


@dataclass(frozen=True, slots=True)
class StartedEvent:
    sandbox: str
    type: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """Some of the command's output. With `encoding="base64"` every byte is kept; otherwise what is not UTF-8 is replaced."""

    type: Literal["stdout", "stderr"]
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ExitEvent:
    code: int
    duration_ms: float
    timed_out: bool
    sandbox: str
    type: Literal["exit"] = "exit"


CommandEvent = StartedEvent | OutputEvent | ExitEvent


def command_event(event: str, data: str) -> CommandEvent | None:
    """None for an event of a kind that this version does not know. An error is raised."""
    try:
        body = json.loads(data)
        match event:
            case "stdout" | "stderr":
                return OutputEvent(
                    event, base64.b64decode(body["base64"]) if "base64" in body else body["text"].encode()
                )
            case "started":
                return StartedEvent(body["sandbox"])
            case "exit":
                return ExitEvent(body["code"], body["duration_ms"], body["timed_out"], body["sandbox"])
            case "error":
                error = api_error(body)
            case _:
                return None
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise BadAnswerError(f"the event {event} is not in the form that it should be") from wrong
    raise error
