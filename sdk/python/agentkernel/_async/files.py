"""Files of one sandbox. A path that does not start with a slash is below /workspace."""

from typing import Unpack

from .._answers import read_as
from .._errors import AgentKernelError
from .._requests import CallOptions, Request, file_path
from .._results import FolderListing, Written
from .connection import AsyncConnection


class AsyncFiles:
    def __init__(self, connection: AsyncConnection, sandbox_path: str) -> None:
        self._connection = connection
        self._sandbox = sandbox_path

    async def read(self, path: str, **options: Unpack[CallOptions]) -> bytes:
        return await self._connection.content(self._at("GET", path, {"format": "raw"}, options))

    async def read_text(self, path: str, **options: Unpack[CallOptions]) -> str:
        """As UTF-8."""
        return (await self.read(path, **options)).decode()

    async def write(
        self, path: str, content: str | bytes, *, mode: int | None = None, **options: Unpack[CallOptions]
    ) -> Written:
        """Replaces the file as a whole or not at all; folders on the way are made. `mode` is 0o644 unless it is given."""
        query = {} if mode is None else {"mode": f"{mode:03o}"}
        data = content.encode() if isinstance(content, str) else content
        return await self._connection.data(self._at("PUT", path, query, options, data), Written)

    async def make_folder(self, path: str, **options: Unpack[CallOptions]) -> Written:
        return await self._connection.data(self._at("PUT", path, {"type": "dir"}, options), Written)

    async def list(self, path: str = "/workspace", **options: Unpack[CallOptions]) -> FolderListing:
        found = await self._connection.plain_data(self._at("GET", path, {"format": "json"}, options))
        if isinstance(found, dict) and found.get("type") == "file":
            raise AgentKernelError(f"{path} is not a folder")
        return read_as(FolderListing, found)

    async def remove(self, path: str, *, recursive: bool = False, **options: Unpack[CallOptions]) -> None:
        query = {"recursive": "true"} if recursive else {}
        await self._connection.plain_data(self._at("DELETE", path, query, options))

    def _at(
        self, method: str, path: str, query: dict[str, str], options: CallOptions, content: bytes | None = None
    ) -> Request:
        place = file_path(self._sandbox, path)
        return Request(method, place, query, content=content, timeout_ms=options.get("request_timeout_ms"))
