/**
 * What a figure must find on the machine, and what it says of a rival. A figure that is not listed needs nothing but
 * what the product needs and compares with nobody. `wholeMs`: what cannot be cut short takes so long. `setUpMs`: what
 * is made before the first sample does.
 */
const docker = ["root", "docker", "dockerd", "busybox"];
const registry = ["docker-registry", "umoci", "skopeo", "busybox"];
const networks = ["root", "ip", "nsenter", "curl"];
const machines = ["root", "qemu-system-x86_64", "mkfs.erofs", "busybox"];
const srt = ["bwrap", "socat", "rg", "npm"];

const plans = {
  "jail-start": { needs: ["bwrap"], ours: "the jail, until the guest is ready", rival: "bwrap" },
  "cold-run": { ours: "`run true` without a daemon", rival: "node -e 0" },
  "warm-run": { needs: ["bwrap"], ours: "`run true`, warm, back to back", rival: "bwrap" },
  "checkout-run": { needs: ["bwrap"], ours: "`run true`, warm, by a checkout's script", rival: "bwrap" },
  soak: { needs: ["bwrap"], wholeMs: 240_000 },
  burst: { needs: ["bwrap"], ours: "100 `run true`, eight at once", rival: "bwrap in turn" },
  "write-exec": { needs: ["bwrap"], ours: "file write and exec over HTTP", rival: "bwrap" },
  "http-run": { needs: ["bwrap"], ours: "POST /run", rival: "bwrap" },
  "http-exec": { needs: ["bwrap"], ours: "exec over HTTP", rival: "bwrap" },
  "daemon-run": { needs: ["bwrap"] },
  "mcp-initialize": { ours: "`mcp server` until it answers", rival: "node -e 0" },
  "code-start": { ours: "`code_run` of an empty program", rival: "node -e 0" },
  "code-tasks": { needs: ["npm"], wholeMs: 60_000 },
  "stdout-gigabyte": { ours: "1 GB through stdout", rival: "a plain pipe" },
  "hundred-at-once": { needs: ["bwrap"], ours: "100 jails at once", rival: "bwrap" },
  "runs-in-sequence": { needs: ["bwrap"], ours: "`run true` without a daemon", rival: "bwrap" },
  "image-pull": {
    wholeMs: 120_000,
    needs: [...registry, "podman"],
    ours: "pull and unpack of 200 MB",
    rival: "podman pull",
  },
  "image-start": { needs: registry, setUpMs: 30_000 },
  "image-page-cache": { needs: registry },
  "egress-bulk": { needs: networks, ours: "1 GB through the gateway", rival: "no sandbox" },
  "egress-bulk-srt": { needs: [...networks, ...srt], ours: "1 GB through the gateway", rival: "srt" },
  "egress-connect": { needs: networks },
  "docker-run": { needs: docker, ours: "`run true`, warm", rival: "docker run" },
  "docker-throughput": { needs: docker, ours: "a fresh sandbox over HTTP, 4 at once", rival: "docker run" },
  "docker-exec": { needs: docker, ours: "exec over HTTP", rival: "docker exec" },
  "microvm-restore": {
    needs: machines,
    setUpMs: 10_000,
    ours: "a virtual machine, restored",
    rival: "one that boots",
  },
  "microvm-docker": {
    needs: [...machines, ...docker],
    setUpMs: 10_000,
    ours: "a virtual machine, restored",
    rival: "docker run",
  },
  "microvm-shutdown": { needs: machines, setUpMs: 10_000 },
  "microvm-memory": { needs: machines, setUpMs: 10_000, wholeMs: 20_000 },
  "wasm-call": { needs: ["bwrap"], ours: "a call of a module over the socket", rival: "bwrap" },
  "wasm-worker": { ours: "a call of a module that starts a worker", rival: "node -e 0" },
  "wasm-first": { ours: "the first call of a module in a fresh daemon", rival: "node -e 0" },
  "wasm-cold": { ours: "`run --backend wasm` without a daemon", rival: "node -e 0" },
  "project-copy": { setUpMs: 30_000 },
  "docker-project": { needs: docker, setUpMs: 60_000 },
  growth: { setUpMs: 30_000 },
  "run-beside-all": { ours: "`run true`, warm", setUpMs: 15_000 },
  "first-byte": { ours: "first byte of `run echo`, warm", setUpMs: 10_000 },
  "exec-beside-all": { ours: "`exec true`", setUpMs: 10_000 },
  "create-use-destroy": { needs: docker, ours: "create, exec, remove over HTTP", rival: "docker" },
  parallel: { needs: ["bwrap"], ours: "200 `run true` at once", rival: "bwrap" },
};

export function planOf({ name }) {
  return { needs: [], ours: null, rival: null, wholeMs: 0, setUpMs: 0, ...plans[name] };
}

/** Why a figure cannot be taken here, or null. */
export function whyNot({ needs }, hasProgram, isRoot) {
  if (needs.includes("root") && !isRoot) return "it needs root";
  const missing = needs.filter((name) => name !== "root" && !hasProgram(name));
  return missing.length === 0 ? null : `this machine has no ${missing.join(", ")}`;
}
