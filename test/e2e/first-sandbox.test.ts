import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { runIn } from "../support/run-cli.js";

describe.each(actors)("as $name", (actor) => {
  it("runs a command and keeps its streams and its status", async () => {
    const result = await runIn(actor, ["sh", "-c", "echo out; echo err >&2; exit 3"], { cwd: actor.folder() });
    expect(result).toMatchObject({ status: 3, stdout: "out\n" });
    expect(result.stderr).toContain("err\n");
  });
});
