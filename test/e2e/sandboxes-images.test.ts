/** Images of sandboxes that stay: they are held for as long as the sandbox is there, whoever comes and goes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { ScriptedRegistry } from "../support/registry-scripted.js";
import { inWorld, type SandboxWorld } from "../support/sandbox-world.js";
import { busyboxTar, imageOf, TestStore } from "../support/served-images.js";
import { file, tarOf } from "../support/tar-maker.js";

let registry: ScriptedRegistry;

beforeAll(async () => {
  registry = await ScriptedRegistry.start();
  const config = {
    Env: ["PATH=/bin", "GREETING=hello"],
    WorkingDir: "/srv",
    Entrypoint: ["/bin/echo"],
    Cmd: ["by itself"],
  };
  registry.addImage("team/tool", "1", imageOf({ tars: [busyboxTar(), tarOf([file("tool.txt", "tool 1\n")])], config }));
});
afterAll(async () => registry.stop());

describe.each(actors)("as $name", (actor) => {
  /** Verbs about the store have a process of their own. */
  const images = (world: SandboxWorld, words: readonly string[], store: TestStore) =>
    world.ak(["images", ...words], { env: { ...store.env, AGENTKERNEL_NODE: process.execPath } });

  it("is shown as in use, not removed and not cleared away, until the sandbox is removed", async () => {
    const store = new TestStore(actor, registry.host);
    const { env } = store;
    const use = async (world: SandboxWorld) => {
      await world.ok(["create", "--no-network", "--image", "team/tool:1", "box"], { env });
      await world.restart();
      expect((await images(world, ["list"], store)).stdout).toMatch(/team\/tool .*sandbox box\n/);
      const removed = await images(world, ["remove", "team/tool:1"], store);
      expect(removed).toMatchObject({ status: 125 });
      expect(removed.stderr).toMatch(/is in use by sandbox box\n {2}hint: remove the sandbox first/);
      expect(await images(world, ["prune", "--all"], store)).toMatchObject({ status: 0 });
      expect((await world.ak(["exec", "box", "cat", "/tool.txt"], { env })).stdout).toBe("tool 1\n");
      await world.ok(["remove", "--force", "box"]);
      expect((await images(world, ["remove", "team/tool:1"], store)).stdout).toMatch(/removed team\/tool:1/);
    };
    await inWorld(actor, use, { env });
  });

  it("run --keep without a command runs what the image is for", async () => {
    const store = new TestStore(actor, registry.host);
    const use = async (world: SandboxWorld) => {
      const ran = await world.ak(["run", "--keep", "--no-network", "--image", "team/tool:1"], { env: store.env });
      expect(ran).toMatchObject({ status: 0, stdout: "by itself\n" });
      const [kept] = await world.list();
      expect(await world.ok(["exec", kept?.name ?? "", "sh", "-c", "echo $GREETING $PWD"])).toBe("hello /workspace\n");
    };
    await inWorld(actor, use, { env: store.env });
  });
});
