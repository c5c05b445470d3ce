/**
 * bench/rivals owns what users would take instead, and the floor that nobody can be below: each can run a command in
 * something fresh, some in something that stays. A rival that this machine lacks, or that fails here, is left out and
 * says why. Nothing of a rival outlives `withRivals`.
 */
import { bwrapTrue } from "../bwrap.mjs";
import { BenchDocker } from "../docker.mjs";
import { hasProgram } from "../environment.mjs";
import { srt } from "../srt.mjs";
import { BenchPodman } from "./podman.mjs";

const KEPT = "kept";

/** `words` runs a command of busybox's; `needs` are programs, or root. */
const rivals = [
  { name: "true", needs: [], open: () => bare((...command) => command) },
  { name: "node -e 0", needs: [], open: () => bare(nodeWords) },
  { name: "unshare", needs: ["unshare"], open: () => bare((...command) => [...unshare, ...command]) },
  { name: "bwrap", needs: ["bwrap"], open: () => bare((...command) => [...bwrapTrue.slice(0, -1), ...command]) },
  { name: "srt", needs: ["bwrap", "socat", "rg", "npm"], open: openSrt },
  { name: "runsc", needs: ["root", "runsc"], open: () => bare((...command) => [...runsc, ...command]) },
  { name: "podman", needs: ["root", "podman", "runc", "busybox"], open: openPodman },
  { name: "docker", needs: ["root", "docker", "dockerd", "busybox"], open: openDocker },
];

const unshare = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork"];
const runsc = ["runsc", "--network=none", "--ignore-cgroups", "do"];

/** What Node itself takes to say as much. */
function nodeWords(program, ...rest) {
  return [process.execPath, "-e", program === "true" ? "0" : `console.log(${JSON.stringify(rest.join(" "))})`];
}

function bare(words) {
  return { words, execWords: null, close: () => {} };
}

function openSrt({ folder }) {
  const before = srt(folder, "example.com");
  return bare((...command) => [...before, command.join(" ")]);
}

async function openPodman({ folder }) {
  const podman = new BenchPodman(folder);
  podman.keep(KEPT);
  return {
    words: (...command) => podman.words("run", "--rm", "--network", "none", "bench", "busybox", ...command),
    execWords: (...command) => podman.words("exec", KEPT, "busybox", ...command),
    close: () => podman.close(),
  };
}

async function openDocker({ folder }) {
  const docker = new BenchDocker(folder);
  try {
    await docker.up();
    docker.keep(KEPT);
  } catch (error) {
    await docker.close();
    throw error;
  }
  return {
    words: (...command) => docker.words("run", "--rm", "--network", "none", "bench", "busybox", ...command),
    execWords: (...command) => docker.words("exec", KEPT, "busybox", ...command),
    close: () => docker.close(),
  };
}

/** `work` gets those that run here, and why the others do not. */
export async function withRivals(context, work) {
  const open = [];
  const skipped = {};
  try {
    for (const rival of rivals) {
      const missing = rival.needs.filter((need) => !isThere(need));
      if (missing.length > 0) {
        skipped[rival.name] = `this machine has no ${missing.join(", ")}`;
        continue;
      }
      try {
        const opened = { name: rival.name, ...(await rival.open(context)) };
        open.push(opened);
        await context.stopwatch.untilExit(opened.words("true"), { cwd: context.emptyProject });
        opened.runs = true;
      } catch (error) {
        skipped[rival.name] = `it does not run here: ${error.message.split("\n")[0]}`;
      }
    }
    return await work(
      open.filter(({ runs }) => runs),
      skipped,
    );
  } finally {
    for (const { close } of open) await close();
  }
}

function isThere(need) {
  return need === "root" ? process.getuid() === 0 : hasProgram(need);
}
