/** This process's own stdin, and the terminal that it may be. */
import { spawnSync } from "node:child_process";
import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { isatty } from "node:tty";
import type { StandardInput } from "../../invocation/index.js";

const READ_BYTES = 65_536;

/** /dev/null, as `rdev` encodes it: character device 1, 3. */
const NULL_DEVICE = (1 << 8) | 3;

export class OwnInput implements StandardInput {
  get isTerminal(): boolean {
    return isatty(0);
  }

  open(): Readable | null {
    return openInput();
  }

  makeRaw(): () => void {
    // Only a terminal is touched through process.stdin: any other stdin has a reader of its own on that descriptor.
    const terminal = isatty(0) ? process.stdin : null;
    const restore = () => {
      terminal?.setRawMode(false);
      process.off("exit", restore);
    };
    if (terminal) {
      terminal.setRawMode(true);
      // Node's raw mode still turns each newline into two characters; a full-screen program means what it writes.
      spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
    }
    process.on("exit", restore);
    return restore;
  }
}

function openInput(): Readable | null {
  const stat = fstatSync(0);
  if (stat.isFIFO()) return new Socket({ fd: ownOpening() ?? 0, readable: true, writable: false });
  if (stat.isSocket()) return new Socket({ fd: 0, readable: true, writable: false });
  if (stat.isCharacterDevice()) {
    if (stat.rdev === NULL_DEVICE) return null;
    if (isatty(0)) return process.stdin;
  }
  if (stat.isDirectory()) return null;
  return createReadStream("", { fd: 0, autoClose: false, highWaterMark: READ_BYTES });
}

/** A pipe is opened once more, so that making it non-blocking is nobody else's business. */
function ownOpening(): number | null {
  try {
    return openSync("/proc/self/fd/0", constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}
