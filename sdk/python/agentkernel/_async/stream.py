"""A command that is heard while it runs."""

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from .._errors import TransportError
from .._events import CommandEvent, command_event
from .._requests import Request
from .._sse import EventParser
from .connection import AsyncConnection


class AsyncCommandStream:
    """Events, from the command's start to its exit. Leaving the `with` ends the command."""

    def __init__(self, connection: AsyncConnection, request: Request) -> None:
        self._events = _events(connection, request)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CommandEvent:
        return await self._events.__anext__()

    async def aclose(self) -> None:
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def _events(connection: AsyncConnection, request: Request) -> AsyncGenerator[CommandEvent, None]:
    parser = EventParser()
    chunks = connection.chunks(request)
    try:
        async for chunk in chunks:
            for event, data in parser.push(chunk):
                read = command_event(event, data)
                if read is not None:
                    yield read
                if read is not None and read.type == "exit":
                    return
    finally:
        await chunks.aclose()
    raise TransportError("the stream ended before the command did")
