/** The kill switch, on an engine: every container of ours and of this user ends at once. Kept ones keep their disk. */
import type { EngineClient } from "./client.js";
import { Container } from "./container.js";
import { labels } from "./labels.js";
import { ownContainers } from "./sweep.js";

/** How many ran. */
export async function endAllContainers(client: EngineClient): Promise<number> {
  const found = await ownContainers(client);
  const ended = await Promise.all(
    found.map(async ({ id, labels: { [labels.kind]: kind } }) => {
      const container = new Container(client, id);
      const state = await container.inspect();
      if (state?.isPaused === true) await container.resume();
      if (state?.isRunning === true) await container.kill();
      if (kind !== "kept") await container.remove();
      return state?.isRunning === true && kind !== "warm";
    }),
  );
  return ended.filter(Boolean).length;
}
