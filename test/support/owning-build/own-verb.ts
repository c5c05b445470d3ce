/** `own FOLDER`: takes over the sandbox that runs in a state folder, or starts one, and holds it. */
import { basename } from "node:path";
import { linuxBackend } from "../../../src/backends/linux/index.js";
import type { ParsedOptions } from "../../../src/cli/option-spec.js";
import { nativeBinary } from "../../../src/core/native-binary.js";
import { journalFolder } from "../../../src/core/state-folders.js";
import type { Invocation } from "../../../src/invocation/index.js";
import { resolve } from "../../../src/policy/resolve.js";

export async function execute(
  { rest }: ParsedOptions,
  { resident, env, homeDir, stdout }: Invocation,
): Promise<number> {
  const [folder = ""] = rest;
  if (resident === null) throw new Error("only a daemon can own something");
  const { kept } = linuxBackend({
    jailBinary: nativeBinary("ak-jail"),
    guestBinary: nativeBinary("ak-guest"),
    journalDir: journalFolder(env, homeDir),
  });
  if (kept === undefined) throw new Error("the backend keeps no sandboxes");
  const { policy } = resolve({
    flags: [{ origin: "the test", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  const id = `owned-${process.pid}`;
  const spec = { id, hostname: id, policy, image: { kind: "host" } as const, projectDir: null, homeDir: null };
  const adopted = await kept.adopt(folder);
  const sandbox = adopted ?? (await kept.start(spec, folder));
  const takeBack = resident.holdings.add({
    what: `sandbox ${basename(folder)}`,
    release: async () => sandbox.release(),
    end: async () => {
      await sandbox.kill();
    },
  });
  void sandbox.over.then(takeBack);
  await stdout.write(`${adopted === null ? "started" : "adopted"} by ${process.pid}\n`);
  return 0;
}
