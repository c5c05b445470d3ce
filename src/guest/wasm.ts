/** Requests that only the worker for WebAssembly serves: compile a module, load a compiled one. */
import type { Buffer } from "node:buffer";
import { deferred } from "../core/deferred.js";
import type { ChannelShape } from "./channel.js";
import type { OpenChannel } from "./exec.js";
import { FrameType } from "./frame.js";
import { type GuestRefusal, readCloseRefusal } from "./messages.js";

export interface WasmFolder {
  /** The same inside the sandbox and for the module. */
  readonly path: string;
  readonly readonly: boolean;
}

export interface WasmLoad {
  /** Path of the compiled module, inside the sandbox. */
  readonly path: string;
  readonly memoryMiB: number;
  readonly folders: readonly WasmFolder[];
  /** The environment of the module: that of a command, or that of the engine for JavaScript. */
  readonly interface: "wasi" | "js";
}

/** Why a module cannot be had. */
export class WasmRefused extends Error {
  /** As the worker says it: not_wasm, component, invalid, stale, too_large, io. */
  readonly code: string;

  constructor({ code, message }: GuestRefusal) {
    super(message);
    this.code = code;
  }
}

const COMPILE_SHAPE: ChannelShape = { inbound: [1], outbound: true, terminal: FrameType.close };
const LOAD_SHAPE: ChannelShape = { inbound: [], outbound: false, terminal: FrameType.close };

/** `take` gets the compiled module piece by piece; it must keep a bound itself, since who compiles may be deceived. */
export async function compileWasm(open: OpenChannel, module: Buffer, take: (piece: Buffer) => void): Promise<void> {
  const compiled = deferred<void>();
  const received = deferred<void>();
  received.promise.catch(() => {});
  const fail = (error: Error) => {
    received.reject(error);
    compiled.reject(error);
  };
  const channel = open(
    COMPILE_SHAPE,
    { kind: "wasm-compile" },
    {
      opened: () => {},
      failed: (refusal) => fail(new WasmRefused(refusal)),
      closed: (end) => {
        const refusal = readCloseRefusal(end);
        if (refusal) fail(new WasmRefused(refusal));
        else compiled.resolve();
      },
      lost: fail,
    },
  );
  channel.inbound(1).attach({
    write: (piece, done) => {
      take(piece);
      done();
    },
    end: () => received.resolve(),
  });
  const stream = channel.requireOutbound();
  stream.write(module);
  stream.end();
  await compiled.promise;
  await received.promise;
}

export function loadWasm(open: OpenChannel, asked: WasmLoad): Promise<void> {
  const loaded = deferred<void>();
  const body = {
    kind: "wasm-load",
    path: asked.path,
    memory_mib: asked.memoryMiB,
    folders: asked.folders,
    interface: asked.interface,
  };
  open(LOAD_SHAPE, body, {
    opened: () => {},
    failed: (refusal) => loaded.reject(new WasmRefused(refusal)),
    closed: () => loaded.resolve(),
    lost: (error) => loaded.reject(error),
  });
  return loaded.promise;
}
