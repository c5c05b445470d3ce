/** A long answer of JSON, written no faster than it is read: what is in memory of it is one piece. */
import type { ServerResponse } from "node:http";

/** An answer that is no longer goes out whole, with its length. */
const SMALL_CHARS = 1 << 16;
/** Who takes nothing for so long has gone, or means no good. */
const STALL_MS = 60_000;

/** What fails before the first piece is there can still be told as an error. */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string> | Iterable<string>,
  sendWhole: (text: string) => void,
): Promise<void> {
  let held = "";
  const isToBeSent = (piece: string) => {
    held += piece;
    return held.length >= SMALL_CHARS;
  };
  const send = (): Promise<boolean> => {
    const text = held;
    held = "";
    if (!response.headersSent) {
      response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    }
    return written(response, text);
  };
  if (Symbol.iterator in pieces) {
    // What is there is not waited for: most answers have a dozen pieces and are small.
    for (const piece of pieces) if (isToBeSent(piece) && !(await send())) return;
  } else {
    for await (const piece of pieces) if (isToBeSent(piece) && !(await send())) return;
  }
  if (response.headersSent) response.end(`${held}\n`);
  else sendWhole(`${held}\n`);
}

/** False: nobody reads any more. */
function written(response: ServerResponse, text: string): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  if (response.write(text)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const settle = (isRead: boolean) => {
      clearTimeout(timer);
      response.off("drain", drained);
      response.off("close", closed);
      resolve(isRead);
    };
    const drained = () => settle(true);
    const closed = () => settle(false);
    const timer = setTimeout(() => response.destroy(), STALL_MS);
    response.once("drain", drained);
    response.once("close", closed);
  });
}
