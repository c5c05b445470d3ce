/** The limits of a sandbox of which nobody says anything let the work of builds through. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { runCli } from "../support/run-cli.js";

const threads = `
import threading
stop = threading.Event()
all = [threading.Thread(target=stop.wait, daemon=True) for _ in range(1000)]
for one in all: one.start()
stop.set()
for one in all: one.join()
print("all", len(all))
`;

/** As much on disk as a dependency tree has, then a compiler. */
const heavy = `
with open("/workspace/written", "wb") as out:
    for _ in range(500): out.write(b"x" * 2**20)
held = bytearray(600 * 2**20)
for at in range(0, len(held), 4096): held[at] = 1
print("held", len(held) >> 20)
`;

describe.each(actors)("as $name", (actor) => {
  it.each([
    ["a thousand threads", threads, "all 1000\n"],
    ["500 MB written and 600 MB held", heavy, "held 600\n"],
  ])("%s", async (_, program, said) => {
    const ran = await runCli(actor, ["run", "python3", "-c", program], { cwd: actor.folder() });
    expect(ran).toMatchObject({ status: 0, stdout: said });
  });
});
