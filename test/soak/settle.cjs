// Loaded into the daemon of a soak, before its own code: collects garbage when it is asked to and says what is left, so
// that two readings of its memory can be compared. It has no other part in what the daemon does.
const { setTimeout } = require("node:timers/promises");

/** Threads of V8's give pages back after a collection, and code is dropped that some collections have found unused. */
const PAUSE_MS = 100;
const NOTICEABLE_BYTES = 100_000;
const FRUITLESS_PASSES = 8;

process.on("message", async () => {
  let least = Number.POSITIVE_INFINITY;
  for (let fruitless = 0; fruitless < FRUITLESS_PASSES; fruitless++) {
    global.gc();
    await setTimeout(PAUSE_MS);
    const { rss } = process.memoryUsage();
    if (rss < least - NOTICEABLE_BYTES) fruitless = 0;
    least = Math.min(least, rss);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send({ rssBytes: rss, heapBytes: heapUsed + external });
});
process.channel.unref();
