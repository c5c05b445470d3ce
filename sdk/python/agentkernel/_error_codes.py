"""Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there."""

from typing import Final

from ._errors import ApiError

__all__ = [
    "AuditUnwritableError",
    "BackendUnavailableError",
    "BadUserError",
    "BadWorkdirError",
    "CommandNotExecutableError",
    "CommandNotFoundError",
    "ConflictError",
    "DigestMismatchError",
    "FileError",
    "ForbiddenError",
    "GuestProtocolError",
    "ImageInvalidError",
    "ImageNotFoundError",
    "ImageUnavailableError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidPolicyError",
    "LayerUnavailableError",
    "MethodNotAllowedError",
    "NotFoundError",
    "PayloadTooLargeError",
    "PolicyDeniedError",
    "RateLimitedError",
    "RegistryError",
    "RegistryUnauthorizedError",
    "RegistryUnreachableError",
    "RegistryUntrustedError",
    "ResourceExhaustedError",
    "SandboxDiedError",
    "SandboxStartFailedError",
    "StoppingError",
    "TooManyRequestsError",
    "ToolFailedError",
    "UnauthorizedError",
    "UnsupportedError",
    "UnsupportedMediaTypeError",
    "error_classes",
]


class InvalidArgumentError(ApiError):
    """A flag, field or value is not one we accept."""

    retryable = False
    _code = "invalid_argument"


class InvalidPolicyError(ApiError):
    """A policy or configuration file does not parse or asks for something impossible."""

    retryable = False
    _code = "invalid_policy"


class NotFoundError(ApiError):
    """The named thing does not exist."""

    retryable = False
    _code = "not_found"


class ConflictError(ApiError):
    """The thing exists already, or is in a state that does not allow this."""

    retryable = False
    _code = "conflict"


class PolicyDeniedError(ApiError):
    """The policy forbids this."""

    retryable = False
    _code = "policy_denied"


class ImageUnavailableError(ApiError):
    """The image is not in the store and cannot be had."""

    retryable = False
    _code = "image_unavailable"


class ImageNotFoundError(ApiError):
    """The registry has no such image, tag or platform."""

    retryable = False
    _code = "image_not_found"


class ImageInvalidError(ApiError):
    """The image is malformed, too large or of a kind that is not supported."""

    retryable = False
    _code = "image_invalid"


class DigestMismatchError(ApiError):
    """Downloaded content is not what its digest says."""

    retryable = False
    _code = "digest_mismatch"


class RegistryUnauthorizedError(ApiError):
    """The registry wants a login, or refused the one it was given."""

    retryable = False
    _code = "registry_unauthorized"


class RegistryUnreachableError(ApiError):
    """The registry cannot be reached, or the connection to it broke."""

    retryable = True
    _code = "registry_unreachable"


class RegistryUntrustedError(ApiError):
    """The registry's certificate is not valid, or it asked for something unsafe."""

    retryable = False
    _code = "registry_untrusted"


class RegistryError(ApiError):
    """The registry failed, or gave an answer that makes no sense."""

    retryable = True
    _code = "registry_error"


class RateLimitedError(ApiError):
    """The registry allows no more downloads for now."""

    retryable = True
    _code = "rate_limited"


class BackendUnavailableError(ApiError):
    """The backend cannot run sandboxes on this machine as it is."""

    retryable = False
    _code = "backend_unavailable"


class LayerUnavailableError(ApiError):
    """An isolation layer that the policy requires could not be applied."""

    retryable = False
    _code = "layer_unavailable"


class SandboxStartFailedError(ApiError):
    """The sandbox could not be started."""

    retryable = True
    _code = "sandbox_start_failed"


class SandboxDiedError(ApiError):
    """The sandbox ended before its command did."""

    retryable = True
    _code = "sandbox_died"


class GuestProtocolError(ApiError):
    """The guest broke the protocol; its sandbox was ended."""

    retryable = False
    _code = "guest_protocol"


class CommandNotFoundError(ApiError):
    """The command is not in the sandbox."""

    retryable = False
    _code = "command_not_found"


class CommandNotExecutableError(ApiError):
    """The command was found but cannot be executed."""

    retryable = False
    _code = "command_not_executable"


class BadWorkdirError(ApiError):
    """The working directory does not exist in the sandbox."""

    retryable = False
    _code = "bad_workdir"


class BadUserError(ApiError):
    """The user is not known or not allowed in the sandbox."""

    retryable = False
    _code = "bad_user"


class ResourceExhaustedError(ApiError):
    """A limit of the sandbox or of the host was reached."""

    retryable = True
    _code = "resource_exhausted"


class FileError(ApiError):
    """A file operation inside the sandbox failed."""

    retryable = False
    _code = "file_error"


class ToolFailedError(ApiError):
    """An MCP server cannot be reached, failed, or did not answer in time."""

    retryable = True
    _code = "tool_failed"


class AuditUnwritableError(ApiError):
    """The audit log is required and could not be written."""

    retryable = True
    _code = "audit_unwritable"


class UnsupportedError(ApiError):
    """This backend or version does not do that."""

    retryable = False
    _code = "unsupported"


class UnauthorizedError(ApiError):
    """No key or token came with the request, or not a valid one."""

    retryable = False
    _code = "unauthorized"


class ForbiddenError(ApiError):
    """Whoever asks may not do this."""

    retryable = False
    _code = "forbidden"


class MethodNotAllowedError(ApiError):
    """There is something at this path, but not for this method."""

    retryable = False
    _code = "method_not_allowed"


class PayloadTooLargeError(ApiError):
    """The request's body is larger than is accepted."""

    retryable = False
    _code = "payload_too_large"


class UnsupportedMediaTypeError(ApiError):
    """The request's body is of a kind that is not accepted here."""

    retryable = False
    _code = "unsupported_media_type"


class TooManyRequestsError(ApiError):
    """A limit on requests was reached; the answer says when to try again."""

    retryable = True
    _code = "too_many_requests"


class StoppingError(ApiError):
    """The server is about to end and takes no new work."""

    retryable = True
    _code = "stopping"


class InternalError(ApiError):
    """A fault of agentkernel's own."""

    retryable = False
    _code = "internal"


error_classes: Final[dict[str, type[ApiError]]] = {
    "invalid_argument": InvalidArgumentError,
    "invalid_policy": InvalidPolicyError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "policy_denied": PolicyDeniedError,
    "image_unavailable": ImageUnavailableError,
    "image_not_found": ImageNotFoundError,
    "image_invalid": ImageInvalidError,
    "digest_mismatch": DigestMismatchError,
    "registry_unauthorized": RegistryUnauthorizedError,
    "registry_unreachable": RegistryUnreachableError,
    "registry_untrusted": RegistryUntrustedError,
    "registry_error": RegistryError,
    "rate_limited": RateLimitedError,
    "backend_unavailable": BackendUnavailableError,
    "layer_unavailable": LayerUnavailableError,
    "sandbox_start_failed": SandboxStartFailedError,
    "sandbox_died": SandboxDiedError,
    "guest_protocol": GuestProtocolError,
    "command_not_found": CommandNotFoundError,
    "command_not_executable": CommandNotExecutableError,
    "bad_workdir": BadWorkdirError,
    "bad_user": BadUserError,
    "resource_exhausted": ResourceExhaustedError,
    "file_error": FileError,
    "tool_failed": ToolFailedError,
    "audit_unwritable": AuditUnwritableError,
    "unsupported": UnsupportedError,
    "unauthorized": UnauthorizedError,
    "forbidden": ForbiddenError,
    "method_not_allowed": MethodNotAllowedError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "too_many_requests": TooManyRequestsError,
    "stopping": StoppingError,
    "internal": InternalError,
}
"""Code of an error → its class."""
