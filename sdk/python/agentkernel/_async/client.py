"""A server of agentkernel, as a program uses it."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from anyio import to_thread

from .._answers import api_error, read_as
from .._errors import ApiError
from .._local import start_daemon
from .._requests import (
    DEFAULT_COMMAND_MS,
    BatchCommand,
    CallOptions,
    CreateCall,
    Request,
    RunCall,
    command_body,
    command_request,
    stream_request,
)
from .._results import Health, RunResult, Version
from .connection import AsyncConnection
from .sandbox import AsyncSandboxes, AsyncSession, AsyncSnapshots
from .stream import AsyncCommandStream


class AsyncAgentKernel:
    """
    `base_url` is http://host:port, https://host:port or unix:///path; otherwise AGENTKERNEL_BASE_URL, the socket of the
    user's daemon, or http://localhost:8080. `api_key` is otherwise AGENTKERNEL_API_KEY, else the token
    of the user's own server on loopback. `request_timeout_ms` is how long
    an answer may take beyond the time limits of its commands; of a stream, how long nothing at all may come.
    `max_retries` is how often a request is sent again where that is safe.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        request_timeout_ms: float = 120_000,
        max_retries: int = 2,
    ) -> None:
        self._connection = AsyncConnection(base_url, api_key, request_timeout_ms, max_retries)
        self.sandboxes = AsyncSandboxes(self._connection)
        self.snapshots = AsyncSnapshots(self._connection)

    @classmethod
    async def local(
        cls, program: str | None = None, *, request_timeout_ms: float = 120_000, max_retries: int = 2
    ) -> Self:
        """
        The user's own daemon on this machine, which is started where none is up; such a one ends after an hour with
        nothing to do. `program` is the command line; otherwise AGENTKERNEL_PROGRAM, else `agentkernel` on the PATH.
        AGENTKERNEL_BASE_URL has no say.
        """
        url = await to_thread.run_sync(start_daemon, program)
        return cls(url, request_timeout_ms=request_timeout_ms, max_retries=max_retries)

    async def run(self, command: Sequence[str], **options: Unpack[RunCall]) -> RunResult:
        """Runs a command in a sandbox of its own. One that fails is a result too: `exit_code` says how it ended."""
        return await self._connection.data(command_request("/run", command, options), RunResult)

    def stream(self, command: Sequence[str], **options: Unpack[RunCall]) -> AsyncCommandStream:
        """The same, heard while it runs. Leaving the `with` ends the command."""
        return AsyncCommandStream(self._connection, stream_request("/run/stream", command, options))

    async def batch(
        self, commands: Sequence[BatchCommand], *, parallel: int | None = None, **options: Unpack[CallOptions]
    ) -> list[RunResult | ApiError]:
        """Several side by side, each in a sandbox of its own. One that could not be run has its error in its place."""
        bodies = [_batch_body(one) for one in commands]
        request = Request(
            "POST",
            "/batch/run",
            json={"commands": bodies} if parallel is None else {"commands": bodies, "parallel": parallel},
            command_ms=sum(float(body.get("timeout_ms", DEFAULT_COMMAND_MS)) for body in bodies),
            timeout_ms=options.get("request_timeout_ms"),
        )
        found = read_as(dict[str, list[dict[str, Any]]], await self._connection.plain_data(request))
        return [_batch_result(item) for item in found["results"]]

    def session(self, **options: Unpack[CreateCall]) -> AsyncSession:
        """A sandbox for many commands, which is removed when it is closed, and after a day in any case (`ttl`)."""
        return AsyncSession(self._connection, options)

    async def health(self, **options: Unpack[CallOptions]) -> Health:
        return await self._connection.data(
            Request("GET", "/health", timeout_ms=options.get("request_timeout_ms")), Health
        )

    async def version(self, **options: Unpack[CallOptions]) -> Version:
        return await self._connection.data(
            Request("GET", "/version", timeout_ms=options.get("request_timeout_ms")), Version
        )

    async def aclose(self) -> None:
        """Lets its connections go. Sessions are closed on their own."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _batch_body(command: BatchCommand) -> dict[str, Any]:
    options = {key: value for key, value in command.items() if key != "command"}
    return command_body(command["command"], options)


def _batch_result(item: Mapping[str, Any]) -> RunResult | ApiError:
    return read_as(RunResult, item.get("data")) if item.get("success") is True else api_error(item["error"])
