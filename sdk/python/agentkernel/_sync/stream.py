"""A command that is heard while it runs."""

from collections.abc import Generator
from types import TracebackType
from typing import Self

from .._errors import TransportError
from .._events import CommandEvent, command_event
from .._requests import Request
from .._sse import EventParser
from .connection import Connection


class CommandStream:
    """Events, from the command's start to its exit. Leaving the `with` ends the command."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self._events = _events(connection, request)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> CommandEvent:
        return self._events.__next__()

    def close(self) -> None:
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _events(connection: Connection, request: Request) -> Generator[CommandEvent, None, None]:
    parser = EventParser()
    chunks = connection.chunks(request)
    try:
        for chunk in chunks:
            for event, data in parser.push(chunk):
                read = command_event(event, data)
                if read is not None:
                    yield read
                if read is not None and read.type == "exit":
                    return
    finally:
        chunks.close()
    raise TransportError("the stream ended before the command did")
