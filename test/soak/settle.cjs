// Loaded into the daemon of a soak, before its own code: collects garbage when it is asked to and says what is left, so
// that two readings of its memory can be compared. It has no other part in what the daemon does.
process.on("message", () => {
  // What a first collection frees may hold what only a second one can free.
  for (let pass = 0; pass < 3; pass++) global.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send({ rssBytes: rss, heapBytes: heapUsed + external });
});
process.channel.unref();
