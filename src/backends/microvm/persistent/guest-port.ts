/** The stream to a machine's guest: behind a greeting, which says that the machine has taken it. */
import type { Socket } from "node:net";
import { AgentKernelError } from "../../../core/errors.js";
import { OverSocket } from "../machine-stream.js";

const LENGTH_BYTES = 4;
const GREETING = Buffer.from('{"said":"here"}');

export class GuestPort extends OverSocket {
  #greeting: Buffer | null = Buffer.alloc(0);

  constructor(socket: Socket) {
    super(socket);
    this.reader.start((chunk) => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    if (this.#greeting === null) {
      this.pass(chunk);
      return;
    }
    const heard = Buffer.concat([this.#greeting, chunk]);
    const length = LENGTH_BYTES + GREETING.length;
    if (heard.length < length) {
      this.#greeting = heard;
      return;
    }
    const isOne = heard.readUInt32LE() === GREETING.length && heard.subarray(LENGTH_BYTES, length).equals(GREETING);
    if (!isOne) {
      this.destroy(new AgentKernelError("internal", "a machine greeted its host with something else"));
      return;
    }
    this.#greeting = null;
    this.pass(heard.subarray(length));
  }
}
