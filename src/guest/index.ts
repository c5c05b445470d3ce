/**
 * The host side of the guest protocol (spec/guest-protocol.md): one session per sandbox, over whatever byte stream
 * the backend gives. It owns frames, flow control, execs and files on that stream. It never starts or stops a
 * sandbox, never decides policy, and never lets what a guest sends harm anything but that guest's own session.
 */
export type { GuestExec, ResumeAt } from "./exec.js";
export type { GuestFiles } from "./files.js";
export type { Callee } from "./guest-opens.js";
export type { OutputSink } from "./inbound-stream.js";
export type { KeptExec, KeptOutput } from "./kept-exec.js";
export { beginLazyView, type LazyView } from "./lazy-view.js";
export type { DirEntry, FileStat } from "./messages.js";
export { GuestSession, KEPT_WINDOW_BYTES } from "./session.js";
export { adoptStream, connectStream, readerOf, type SocketReader } from "./socket-reader.js";
export type { TreeReport, TreeTarget } from "./tree.js";
export { type WasmFolder, type WasmLoad, WasmRefused } from "./wasm.js";
