"""Server-Sent Events out of bytes, however these are cut."""

import codecs
import re
from collections.abc import Iterator

_line_end = re.compile(r"\r\n|\n|\r")


class EventParser:
    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._event = ""
        self._data: list[str] = []

    def push(self, chunk: bytes) -> Iterator[tuple[str, str]]:
        """The events, each with its data, that are complete with these bytes."""
        self._rest += self._decoder.decode(chunk)
        # A carriage return at the end may be the first half of a line's end.
        whole = self._rest.removesuffix("\r")
        *lines, last = _line_end.split(whole)
        self._rest = last + self._rest[len(whole) :]
        for line in lines:
            if line != "":
                self._take(line)
                continue
            event, data = self._event or "message", self._data
            self._event, self._data = "", []
            if data:
                yield event, "\n".join(data)

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
