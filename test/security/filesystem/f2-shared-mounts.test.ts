/** On a machine whose mounts are shared, as systemd makes them, what covers files inside a sandbox stays inside. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { programOf, root } from "../../support/actors.js";
import { testSettings } from "../../support/test-settings.js";

const run = promisify(execFile);

/** In a mount namespace of its own, $1 is a shared mount with a secret in it; $2 is for pipes and copies. */
const prologue = `
set -e
mount -t tmpfs -o size=8m none "$1"
mount --make-shared "$1"
cd "$1"
echo secret > .env
`;

/** What the host sees: the secret, and how many mounts there are at or below the folder. */
const look = `
cat .env
grep -c " $1[ /]" /proc/self/mountinfo
`;

const copied = `
mkdir "$2/copy"
mount --bind "$1" "$2/copy"
mount --bind /dev/null "$2/copy/.env"
`;

const sandboxed = (mode: string) => `
mkfifo "$2/in" "$2/out"
"$3" "$4" run --no-network --workspace ${mode} sh -c 'cat .env; echo ready; read _' <"$2/in" >"$2/out" 2>/dev/null &
exec 3>"$2/in" 4<"$2/out"
read line <&4
[ "$line" = ready ]
${look}
echo >&3
wait
`;

describe.skipIf(root === undefined)("F2 mounts of the host that are shared", () => {
  const actor = root;
  if (actor === undefined) return;
  const onHost = async (script: string): Promise<string> => {
    const words = ["-m", "--propagation", "private", "sh", "-c", script, "sh"];
    const env = { PATH: process.env.PATH ?? "", HOME: actor.home, ...testSettings };
    const places = [actor.folder("shared"), actor.folder("beside")];
    return (await run("unshare", [...words, ...places, ...programOf(actor)], { env })).stdout;
  };

  it("what is mounted on a copy of one shows up on it", async () => {
    expect(await onHost(prologue + copied + look)).toBe("2\n");
  });

  it.each(["mount", "copy", "sync"])("--workspace %s hides inside, and nothing outside", async (mode) => {
    expect(await onHost(prologue + sandboxed(mode))).toBe("secret\n1\n");
  });
});
