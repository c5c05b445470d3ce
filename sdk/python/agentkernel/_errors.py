"""Every way in which a call can fail. All are `AgentKernelError`; what the server refused is an `ApiError`."""

from collections.abc import Mapping
from typing import ClassVar


class AgentKernelError(Exception):
    """Whatever can go wrong with a call."""


class ApiError(AgentKernelError):
    """The server said no, and why. Each code of spec/errors.json has a class of its own below this one."""

    retryable: ClassVar[bool] = False
    """The same call may work later."""
    _code: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        status: int | None = None,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
        retry_after_ms: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self._code
        self.status = status
        """Of HTTP; None where the error came within a stream or a batch."""
        self.hint = hint
        """What to do next."""
        self.details = dict(details or {})
        self.retry_after_ms = retry_after_ms
        """How long the server wants to be left alone."""


class TransportError(AgentKernelError):
    """The server was not reached, or the connection broke."""

    def __init__(self, message: str, *, unsent: bool = False) -> None:
        super().__init__(message)
        self.unsent = unsent
        """Nothing of the request can have reached the server."""


class RequestTimeoutError(AgentKernelError, TimeoutError):
    """The answer did not come in time. A command has a limit of its own, `timeout_ms`, whose end is a result."""


class BadAnswerError(AgentKernelError):
    """Something answered that is not agentkernel, or of another version."""
