/** Where suites run. Each place is a command line around the suite's own; the project is the current directory. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const agentkernel = [join(root, "bin", "agentkernel"), "run", "--image", "host"];

/** As much of the machine as the image `host` shows, with the toolchains of the PATH. */
function bubblewrap(project) {
  const shown = ["/usr", "/etc", "/opt", join(process.env.HOME ?? "/root", ".pyenv")].filter((path) =>
    existsSync(path),
  );
  return [
    ...["bwrap", "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
    ...["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...shown.flatMap((path) => ["--ro-bind", path, path]),
    ...["--bind", project, project, "--chdir", project, "--"],
  ];
}

/** @type {readonly { name: string, title: string, isHere: () => boolean, around: (project: string) => readonly string[] }[]} */
export const places = [
  { name: "outside", title: "outside", isHere: () => true, around: () => [] },
  {
    name: "linux-moderate",
    title: "linux, `moderate`",
    isHere: () => process.platform === "linux",
    around: () => [...agentkernel, "--backend", "linux"],
  },
  {
    name: "linux-restrictive",
    title: "linux, `restrictive`",
    isHere: () => process.platform === "linux",
    around: () => [...agentkernel, "--backend", "linux", "-p", "restrictive"],
  },
  {
    name: "gvisor",
    title: "gvisor, `moderate`",
    isHere: () => isThere("runsc"),
    around: () => [...agentkernel, "--backend", "gvisor"],
  },
  // Counted for comparison; nobody has to explain what differs there.
  { name: "bwrap", title: "bubblewrap", isRival: true, isHere: () => isThere("bwrap"), around: bubblewrap },
];

function isThere(program) {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}
