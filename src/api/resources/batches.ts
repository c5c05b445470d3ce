/** Commands side by side, each in a temporary sandbox: results go out in their order, each as soon as its turn has come. */
import { type Deferred, deferred } from "../../core/deferred.js";
import { isAgentKernelError } from "../../core/errors.js";
import type { HandlerFor } from "../call.js";
import { succeeded } from "../commands/captured.js";
import { errorAnswer } from "../http/error-answer.js";
import { BATCH_OUTPUT_BYTES, type OutputRoom } from "../limits/output-budget.js";
import { type Run, runCaptured } from "./runs.js";

interface Result {
  readonly pieces: Iterable<string>;
  readonly room: OutputRoom;
}

export const batchRun: HandlerFor<"batchRun"> = async ({ body, caller, signal }, backing) => {
  const { commands, parallel = commands.length } = body;
  backing.countMore(caller, commands.length - 1);
  const share = { leftBytes: BATCH_OUTPUT_BYTES };
  const results = commands.map(() => deferred<Result>());
  const rooms = commands.map(() => backing.outputs.open(caller.id, share));
  const waiting = [...commands.keys()];
  const work = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const [one, room, result] = [commands[index], rooms[index], results[index]];
      if (one === undefined || room === undefined || result === undefined) return;
      await resultOf({ body: one, caller, signal, backing, room }).then(
        (pieces) => result.resolve({ pieces, room }),
        (error: unknown) => {
          // The answer is lost: what has not begun need not.
          waiting.length = 0;
          for (const other of results) other.reject(error);
        },
      );
    }
  };
  const working = Promise.all(Array.from({ length: parallel }, work));
  return {
    kind: "json",
    pieces: resultsInOrder(results, working),
    release: () => {
      for (const { release } of rooms) release();
    },
  };
};

/** `working`: also what nobody reads any more is waited for. */
async function* resultsInOrder(
  results: readonly Deferred<Result>[],
  working: Promise<unknown>,
): AsyncGenerator<string> {
  try {
    let before = '{"success":true,"data":{"results":[';
    for (const { promise } of results) {
      const { pieces, room } = await promise;
      yield before;
      yield* pieces;
      room.release();
      before = ",";
    }
    yield "]}}";
  } finally {
    await working;
  }
}

/** One that fails is a result of the batch; the others go on. */
async function resultOf(one: Run): Promise<Iterable<string>> {
  try {
    return succeeded(await runCaptured(one));
  } catch (error) {
    if (!isAgentKernelError(error) || one.signal.aborted) throw error;
    return [JSON.stringify({ success: false, error: errorAnswer(error, one.backing.redactFor(one.caller)).error })];
  }
}
