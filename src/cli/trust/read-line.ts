/** One line of a terminal, so that the stream can be read on from there by somebody else. */
import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";

/** Null where the input ends before a line does. */
export async function readLine(input: Readable): Promise<string | null> {
  return await new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const finish = (line: string | null) => {
      // Without its listeners the stream neither flows nor is paused: whoever reads next decides.
      input.off("readable", take).off("end", end).off("error", end).off("close", end);
      resolve(line);
    };
    const end = () => finish(null);
    const take = () => {
      for (let piece: Buffer | null = input.read(); piece !== null; piece = input.read()) {
        const at = piece.indexOf("\n");
        pieces.push(at < 0 ? piece : piece.subarray(0, at));
        if (at < 0) continue;
        if (at + 1 < piece.length) input.unshift(piece.subarray(at + 1));
        finish(Buffer.concat(pieces).toString());
        return;
      }
    };
    input.on("readable", take).on("end", end).on("error", end).on("close", end);
  });
}
