/** The WebSocket that browsers, Bun and Deno have. */
import { TransportError } from "./errors.js";
import type { MessageSocket } from "./transport.js";

export function globalSocket(url: string, signal: AbortSignal): Promise<MessageSocket> {
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const received: (string | Uint8Array)[] = [];
  let isClosed = false;
  let wake: () => void = () => {};
  socket.onmessage = ({ data }) => {
    received.push(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    wake();
  };
  return new Promise((resolve, reject) => {
    const abort = () => {
      socket.close();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.onclose = () => {
      isClosed = true;
      wake();
      reject(new TransportError(`${url} could not be reached, or refused`));
    };
    socket.onopen = () => {
      signal.removeEventListener("abort", abort);
      resolve({ send: (message) => socket.send(message as Uint8Array<ArrayBuffer>), messages, close });
    };
  });

  async function* messages(): AsyncGenerator<string | Uint8Array> {
    try {
      for (;;) {
        const next = received.shift();
        if (next !== undefined) yield next;
        else if (isClosed) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      close();
    }
  }

  function close(): void {
    socket.close();
  }
}
