/** Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there. */

/** Every code that an error of the server can have; `retryable`: the same call may work later. */
export const errorTable = {
  /** A flag, field or value is not one we accept. */
  invalid_argument: { http: 400, retryable: false },
  /** A policy or configuration file does not parse or asks for something impossible. */
  invalid_policy: { http: 400, retryable: false },
  /** The named thing does not exist. */
  not_found: { http: 404, retryable: false },
  /** The thing exists already, or is in a state that does not allow this. */
  conflict: { http: 409, retryable: false },
  /** The policy forbids this. */
  policy_denied: { http: 403, retryable: false },
  /** The image is not in the store and cannot be had. */
  image_unavailable: { http: 424, retryable: false },
  /** The registry has no such image, tag or platform. */
  image_not_found: { http: 424, retryable: false },
  /** The image is malformed, too large or of a kind that is not supported. */
  image_invalid: { http: 424, retryable: false },
  /** Downloaded content is not what its digest says. */
  digest_mismatch: { http: 424, retryable: false },
  /** The registry wants a login, or refused the one it was given. */
  registry_unauthorized: { http: 424, retryable: false },
  /** The registry cannot be reached, or the connection to it broke. */
  registry_unreachable: { http: 424, retryable: true },
  /** The registry's certificate is not valid, or it asked for something unsafe. */
  registry_untrusted: { http: 424, retryable: false },
  /** The registry failed, or gave an answer that makes no sense. */
  registry_error: { http: 424, retryable: true },
  /** The registry allows no more downloads for now. */
  rate_limited: { http: 503, retryable: true },
  /** The backend cannot run sandboxes on this machine as it is. */
  backend_unavailable: { http: 503, retryable: false },
  /** An isolation layer that the policy requires could not be applied. */
  layer_unavailable: { http: 503, retryable: false },
  /** The sandbox could not be started. */
  sandbox_start_failed: { http: 500, retryable: true },
  /** The sandbox ended before its command did. */
  sandbox_died: { http: 500, retryable: true },
  /** The guest broke the protocol; its sandbox was ended. */
  guest_protocol: { http: 500, retryable: false },
  /** The command is not in the sandbox. */
  command_not_found: { http: 400, retryable: false },
  /** The command was found but cannot be executed. */
  command_not_executable: { http: 400, retryable: false },
  /** The working directory does not exist in the sandbox. */
  bad_workdir: { http: 400, retryable: false },
  /** The user is not known or not allowed in the sandbox. */
  bad_user: { http: 400, retryable: false },
  /** A limit of the sandbox or of the host was reached. */
  resource_exhausted: { http: 429, retryable: true },
  /** A file operation inside the sandbox failed. */
  file_error: { http: 400, retryable: false },
  /** An MCP server cannot be reached, failed, or did not answer in time. */
  tool_failed: { http: 502, retryable: true },
  /** The audit log is required and could not be written. */
  audit_unwritable: { http: 500, retryable: true },
  /** This backend or version does not do that. */
  unsupported: { http: 501, retryable: false },
  /** No key or token came with the request, or not a valid one. */
  unauthorized: { http: 401, retryable: false },
  /** Whoever asks may not do this. */
  forbidden: { http: 403, retryable: false },
  /** There is something at this path, but not for this method. */
  method_not_allowed: { http: 405, retryable: false },
  /** The request's body is larger than is accepted. */
  payload_too_large: { http: 413, retryable: false },
  /** The request's body is of a kind that is not accepted here. */
  unsupported_media_type: { http: 415, retryable: false },
  /** A limit on requests was reached; the answer says when to try again. */
  too_many_requests: { http: 429, retryable: true },
  /** The server is about to end and takes no new work. */
  stopping: { http: 503, retryable: true },
  /** A fault of agentkernel's own. */
  internal: { http: 500, retryable: false },
} as const;

export type ErrorCode = keyof typeof errorTable;
