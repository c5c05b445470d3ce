/**
 * The host side of the guest protocol (spec/guest-protocol.md): one session per sandbox, over whatever byte stream
 * the backend gives. It owns frames, flow control, execs and files on that stream. It never starts or stops a
 * sandbox, never decides policy, and never lets what a guest sends harm anything but that guest's own session.
 */
export type { GuestExec, ResumeAt } from "./exec.js";
export type { DirList, GuestFileReader, GuestFiles, ReadRange } from "./files.js";
export type { Callee } from "./guest-opens.js";
export type { OutputSink } from "./inbound-stream.js";
export { isExecKey, type KeptExec, type KeptOutput } from "./kept-exec.js";
export type { DirEntry, FileInfo, FileStat, FileType, GuestRefusal } from "./messages.js";
export type { GuestReady } from "./ready.js";
export { DEFAULT_WINDOW_BYTES, GuestSession, type GuestSessionOptions, KEPT_WINDOW_BYTES } from "./session.js";
export { adoptStream, connectStream, openStream, readerOf, type SocketReader } from "./socket-reader.js";
export { readTreeReport, type TreeReport, type TreeTarget } from "./tree.js";
export { GuestViolation, type ViolationReason } from "./violation.js";
export { type WasmFolder, type WasmLoad, WasmRefused } from "./wasm.js";
export type { WriteOptions } from "./write-file.js";
