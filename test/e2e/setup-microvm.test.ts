/** `setup --backend microvm`: what is missing is told, a kernel is taken whole and verified, and a machine boots. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { kernelFolder } from "../support/machine-places.js";
import { missingForMachines } from "../support/microvm-backend.js";
import { runCli } from "../support/run-cli.js";

const missing = missingForMachines();
const BOOT_MS = 300_000;

/** With folders of its own, so that no kernel is there yet. */
function newcomer(actor: Actor) {
  const data = actor.folder("data");
  const state = actor.folder("state");
  const own = { XDG_DATA_HOME: data, XDG_CACHE_HOME: actor.folder("cache"), XDG_STATE_HOME: state };
  const proof = join(state, "agentkernel/proofs/microvm.json");
  return {
    client: { ...actor, variables: { ...actor.variables, ...own } },
    kernels: join(data, "agentkernel/kernels"),
    proof,
  };
}

describe.skipIf(missing !== null).each(actors)("as $name", (actor) => {
  it("tells what would be fetched, and fetches nothing unasked", async () => {
    const { client, kernels } = newcomer(actor);
    const shown = await runCli(client, ["setup", "--backend", "microvm", "--print"]);
    expect(shown.stdout).toContain("there is no kernel for machines");
    expect(shown.stdout).toContain(`would be fetched by apt into ${join(kernels, "debian")}`);
    expect(shown.status).toBe(0);
    const unasked = await runCli(client, ["setup", "--backend", "microvm"]);
    expect(unasked.stderr).toContain("nobody can be asked here");
    expect(existsSync(kernels)).toBe(false);
  });

  it("refuses a folder that is no kernel, and one whose files are not those that were made", async () => {
    const { client, kernels } = newcomer(actor);
    const empty = actor.folder("empty");
    const none = await runCli(client, ["setup", "--backend", "microvm", "--kernel", empty, "--yes"]);
    expect(none.stderr).toContain(`--kernel ${empty}: there is no kernel.json`);
    const changed = actor.folder("changed");
    cpSync(kernelFolder, changed, { recursive: true });
    writeFileSync(join(changed, "kernel"), "another");
    const refused = await runCli(client, ["setup", "--backend", "microvm", "--kernel", changed, "--yes", "--json"]);
    expect(JSON.parse(refused.stdout)).toMatchObject({ success: false, error: { code: "digest_mismatch" } });
    expect(existsSync(kernels)).toBe(false);
  });
});

const [first] = actors;
describe.skipIf(missing !== null || first === undefined)("a kernel that was built", () => {
  it("is taken whole, and a machine boots with it", { timeout: BOOT_MS }, async () => {
    if (first === undefined) return;
    const { client, kernels, proof } = newcomer(first);
    const words = ["setup", "--backend", "microvm", "--kernel", kernelFolder, "--yes", "--json"];
    const { data } = JSON.parse((await runCli(client, words)).stdout) as { readonly data: object };
    expect(data).toMatchObject({ ok: true, missing: [], kernel: { folder: join(kernels, "agentkernel") } });
    expect(data).toMatchObject({ proof: { works: true, detail: expect.stringMatching(/booted a machine in \d+ ms/) } });
    expect(readdirSync(kernels)).toEqual(["agentkernel"]);
    // As if hardware had run it, which no machine that tests run on can: what no machine can do is linux's, and said.
    writeFileSync(proof, readFileSync(proof, "utf8").replace('"accelerator":"tcg"', '"accelerator":"kvm"'));
    const ran = await runCli(client, ["run", "--json", "--image", "host", "--workspace", "none", "true"]);
    const why = expect.stringContaining("image host");
    expect(JSON.parse(ran.stdout)).toMatchObject({ data: { backend: "linux", backend_why: why, notes: [why] } });
    // What lies there is held against its digests again.
    writeFileSync(join(kernels, "agentkernel", "kernel"), "another");
    const damaged = await runCli(client, ["setup", "--backend", "microvm", "--print"]);
    expect(damaged.stderr).toContain("and kernel.json says");
  });
});
