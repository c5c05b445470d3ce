import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../support/actors.js";
import { runOutside } from "../support/fs-attack.js";
import { plant } from "../support/fs-tree.js";

const SECRET = "planted-below-a-mount";

// A user's sandbox cannot look below a mount of the host at all.
describe.runIf(root !== undefined)("F8 secrets below another filesystem that is mounted in the project", () => {
  it.each(["copy", "mount"])("%s", async (form) => {
    if (root === undefined) return;
    const project = plant(root, root.folder(), { "data/.env": SECRET, "data/plain": "plain" });
    const outside = await runOutside(root, ["sh", "-c", "cat data/.env data/plain"], project);
    expect(outside.stdout).toBe(`${SECRET}plain`);

    const covered = 'mount -t tmpfs none data && echo over > data/over && exec "$@"';
    const cli = [process.execPath, join(root.dist, "agentkernel.js"), "run", "--no-network", "--workspace", form];
    const inside = ["sh", "-c", "ls -A data; cat data/.env data/plain"];
    const result = await runOutside(
      root,
      ["unshare", "--mount", "sh", "-c", covered, "sh", ...cli, ...inside],
      project,
    );
    expect(result.stdout).toContain("plain");
    expect(result.stdout + result.stderr).not.toContain(SECRET);
  });
});
