/**
 * The SDK for TypeScript and JavaScript: the HTTP API of agentkernel as calls with types. It runs nothing itself, and
 * depends on nothing but what Node, Bun, Deno or a browser has.
 */
export { AgentKernel, type BatchCommand, type LocalOptions } from "./client.js";
export type { CallOptions, ConnectionOptions } from "./connection.js";
export { type ErrorCode, errorTable } from "./error-codes.js";
export {
  AgentKernelError,
  ApiError,
  BadAnswerError,
  isApiError,
  RequestTimeoutError,
  TransportError,
} from "./errors.js";
export { type CommandEvent, type ExitEvent, OutputEvent, type StartedEvent } from "./events.js";
export type { Files } from "./files.js";
export type { Network } from "./network.js";
export type * from "./records.js";
export { type AttachOptions, Sandbox, Session, type SnapshotOptions } from "./sandbox.js";
export type { Sandboxes } from "./sandboxes.js";
export type { Snapshots } from "./snapshots.js";
export type { Terminal } from "./terminal.js";
