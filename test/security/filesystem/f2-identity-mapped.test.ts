/**
 * Started within a user namespace that maps the host's root to itself, a sandbox can have root's id. Switches of the
 * kernel that only root may touch are masked then as well.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { environmentOf, programOf, root } from "../../support/actors.js";
import { makeProject } from "../../support/project.js";
import { runOutside } from "../support/process-programs.js";

/** Opened and not written to. */
const SWITCHES = ["sysrq-trigger", "kmsg", "kcore", "timer_list"];
const script = `
for name in ${SWITCHES.join(" ")}; do
  { true >>/proc/$name; } 2>/dev/null && echo "wrote $name"
  head -c 1 /proc/$name 2>/dev/null | grep -q . && echo "read $name"
done
true`;

describe.runIf(root !== undefined)("F2 switches of the kernel, within an identity-mapped user namespace", () => {
  const apart = ["unshare", "--user", "--map-root-user", "--mount"] as const;

  it("outside, root of that namespace opens those that this kernel has", async () => {
    if (root === undefined) return;
    const opened = (await runOutside(root, [...apart, "sh", "-c", script])).stdout;
    expect(opened).toMatch(/^wrote (sysrq-trigger|timer_list)$/m);
  });

  it.each(["moderate", "restrictive"])("inside, under %s, each is masked", async (profile) => {
    if (root === undefined) return;
    const cwd = makeProject(root, { a: "a\n" }).path;
    const words = ["run", "--no-network", "--profile", profile, "sh", "-c", `${script}; echo done`];
    const ran = await runOutside(root, [...apart, ...programOf(root), ...words], {
      cwd,
      env: { ...environmentOf(root), XDG_STATE_HOME: join(root.ownFolder("state"), "state") },
    });
    expect(ran).toMatchObject({ status: 0, stdout: "done\n" });
  });
});
