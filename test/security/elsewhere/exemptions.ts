/** Attacks of the suite that cannot be made on a backend, and threats that it has not; each with the reason. */
import type { ChosenName } from "../../support/chosen-backend.js";

interface Exemption {
  readonly on: readonly ChosenName[];
  readonly file: string;
  /** Parts of titles; all of the file without any. */
  readonly tests?: readonly string[];
  readonly reason: string;
}

const engines = ["docker", "podman"] as const;
const LIVE = "a machine shows no folder of the host's live, and refuses to";

export const exemptions: readonly Exemption[] = [
  {
    on: engines,
    file: "filesystem/f1-read-outside",
    tests: ["the machine's password files"],
    reason: "the root is an image's, with accounts of its own and nothing of the machine's",
  },
  {
    on: ["gvisor", "microvm"],
    file: "filesystem/f1-project-mount",
    reason:
      "mounts and namespaces are those of the sandbox's own kernel, in which no directory of the host's is mounted",
  },
  {
    on: engines,
    file: "filesystem/f2-write-outside",
    tests: ["stays as it is, under moderate"],
    reason: "a read-only mount is a copy, of which the sandbox can change modes and times; the host's files stay",
  },
  {
    on: engines,
    file: "filesystem/f2-kept-root",
    tests: ["own ids on disk", "nothing of it but the disk"],
    reason: "what a sandbox keeps is the engine's to store: the state folder has no disk",
  },
  {
    on: engines,
    file: "filesystem/f3-git",
    tests: ["commits of a sandbox's are carried over"],
    reason: "the image of these tests has no git",
  },
  {
    on: ["microvm"],
    file: "filesystem/f3-git",
    tests: ["in a live workspace", "a live workspace is left"],
    reason: LIVE,
  },
  {
    on: engines,
    file: "filesystem/f13-git",
    tests: ["are no files that git commits"],
    reason: "the image of these tests has no git",
  },
  {
    on: engines,
    file: "filesystem/f4-remount",
    tests: ["under moderate", "under permissive"],
    reason: "the whole root is the sandbox's own image and can be written; nothing of it is the host's",
  },
  {
    on: engines,
    file: "filesystem/f7-fill-the-disk",
    tests: ["bytes and inodes end inside"],
    reason: "the engine's storage has no quota: beyond /tmp, /dev/shm and /workspace a writable root has no limit",
  },
  {
    on: ["podman"],
    file: "filesystem/f7-fill-the-disk",
    tests: ["temporary folders"],
    reason: "Podman limits the size of a tmpfs and not the number of files in it; the memory limit ends those",
  },
  {
    on: engines,
    file: "network/n9-other-sandboxes",
    tests: ["abstract sockets"],
    reason: "it is found by the jail's process, which a container has not",
  },
  {
    on: engines,
    file: "process/p6-host-facts",
    tests: ["nothing of it is visible", "a live project shows"],
    reason: "mount tables show the engine's paths and the folder that agentkernel is installed in",
  },
  {
    on: ["podman"],
    file: "process/p6-host-facts",
    tests: ["root of all cgroups"],
    reason:
      "with cgroup v1 Podman gives a cgroup namespace to those who ask on its command line, not by its API: " +
      "a process sees the name of its container's group",
  },
  {
    on: ["gvisor"],
    file: "filesystem/f1-read-outside",
    tests: ["the home folder that permissive shows"],
    reason: "gVisor's kernel answers a chmod of what is read-only with success; the host's file stays as it is",
  },
  {
    on: ["gvisor"],
    file: "filesystem/f2-write-outside",
    tests: ["devices, under", "a device node"],
    reason: "switches and devices are gVisor's own; what is the host's is attacked in gvisor.test.ts",
  },
  {
    on: ["gvisor"],
    file: "filesystem/f2-sync",
    tests: ["a setuid bit, a pipe"],
    reason: "a pipe that a command makes stays in gVisor's kernel and cannot be told of",
  },
  {
    on: ["gvisor"],
    file: "filesystem/f7-fill-the-disk",
    tests: ["temporary folders"],
    reason: "gVisor's /tmp has a limit of bytes and none of files; the memory limit ends those",
  },
  { on: ["gvisor"], file: "network/n4-dns-exfiltration", reason: "there is no resolver inside" },
  { on: ["gvisor"], file: "network/n8-exhaustion", reason: "the bounds are the gateway's, whoever calls" },
  { on: ["gvisor"], file: "protocol/g2-nobody-reads", reason: "what it measures are the jail's processes" },
  {
    on: ["gvisor"],
    file: "network/n3-rebinding",
    tests: ["turns private after its first answer"],
    reason: "programs resolve no names there; the gateway does, for its proxy",
  },
  {
    on: ["gvisor"],
    file: "network/n5-confused-names",
    tests: ["is neither asked for", "where it is no name", "deny beside allow"],
    reason: "they go without the proxy too, which leads nowhere there",
  },
  {
    on: ["gvisor"],
    file: "network/n6-fronting",
    tests: ["by an alert", "with another Host to the server", "only denies the hidden name"],
    reason: "they go without the proxy, which leads nowhere there",
  },
  {
    on: ["gvisor"],
    file: "network/n7-proxies",
    tests: ["inside, to nothing"],
    reason: "it goes without the sandbox's own proxy, which leads nowhere there",
  },
  {
    on: ["gvisor"],
    file: "process/p1-bombs",
    tests: ["anonymous memory", "the disk of the sandbox", "memfd"],
    reason: "gVisor's kernel has the memory of all processes, so that the whole sandbox ends; gvisor.test.ts",
  },
  {
    on: ["gvisor"],
    file: "process/p1-bombs",
    tests: ["an id range multiplies"],
    reason: "gVisor's kernel limits processes for each id; what all have is bounded by the cgroup around gVisor",
  },
  {
    on: ["gvisor"],
    file: "process/p2-survive",
    reason:
      "gVisor's kernel hangs the attacker up that stops its parent, and its processes are not the host's to see: " +
      "attacked in gvisor.test.ts",
  },
  {
    on: ["gvisor"],
    file: "process/p3-attack-the-guest",
    tests: ["inside, all of it", "every signal"],
    reason: "gVisor's kernel guards process 1 less: who ends it ends that sandbox, and the run says so",
  },
  {
    on: ["gvisor"],
    file: "process/p4-forbidden-syscalls",
    tests: ["by default", "a live project", "as another user"],
    reason: "gVisor's kernel answers some calls before the filter does, with other numbers",
  },
  {
    on: ["gvisor"],
    file: "process/p5-privilege-gain",
    tests: ["nobody special"],
    reason: "gVisor's of Debian 12 shows no ambient set to look at",
  },
  {
    on: ["gvisor"],
    file: "process/p6-host-facts",
    tests: ["a live project shows", "root of all cgroups", "are closed"],
    reason: "/sys, the kernel's command line, cgroups and the mount table are gVisor's own, with nothing of the host's",
  },
  {
    on: ["gvisor"],
    file: "process/p7-descriptors",
    reason: "its processes are not the host's to see: attacked in gvisor.test.ts",
  },
  {
    on: ["microvm"],
    file: "filesystem/f1-read-outside",
    tests: ["the machine's password files"],
    reason: "the root is an image's, with accounts of its own and nothing of the machine's",
  },
  {
    on: ["microvm"],
    file: "filesystem/f1-read-outside",
    tests: ["with the workspace as mount", "home folder"],
    reason: LIVE,
  },
  {
    on: ["microvm"],
    file: "filesystem/f2-write-outside",
    tests: ["workspace as mount undefined", "a writable mount only"],
    reason: LIVE,
  },
  {
    on: ["microvm"],
    file: "filesystem/f2-write-outside",
    tests: ["stays as it is, under moderate"],
    reason: "a read-only mount is a copy, of which the sandbox can change modes and times; the host's files stay",
  },
  { on: ["microvm"], file: "filesystem/f2-set-id-bits", reason: LIVE },
  { on: ["microvm"], file: "filesystem/f2-mount-points", tests: ["mount: a link"], reason: LIVE },
  {
    on: ["microvm"],
    file: "filesystem/f4-remount",
    tests: ["under moderate", "under permissive"],
    reason: "the whole root is the sandbox's own image and can be written; nothing of it is the host's",
  },
  { on: ["microvm"], file: "filesystem/f3-protected", reason: LIVE },
  {
    on: ["microvm"],
    file: "filesystem/f8-project-secrets",
    tests: ["by any path, as mount", "a mount beside the workspace"],
    reason: LIVE,
  },
  { on: ["microvm"], file: "filesystem/f9-renamed-parents", reason: LIVE },
  { on: ["microvm"], file: "filesystem/f12-raced-search", tests: ["find no secret"], reason: LIVE },
  { on: ["microvm"], file: "network/n1-network-off", tests: ["the project (mount)"], reason: LIVE },
  {
    on: ["microvm"],
    file: "network/n9-other-sandboxes",
    tests: ["abstract sockets"],
    reason: "it is found by the jail's process, which a machine has not inside",
  },
  {
    on: ["microvm"],
    file: "process/p1-bombs",
    tests: ["anonymous memory"],
    reason: "the machine's own kernel ends what takes too much, as the contract's limit-memory shows",
  },
  {
    on: ["microvm"],
    file: "process/p2-survive",
    reason: "its processes are not the host's to see, and end with the machine: test/faults/microvm.test.ts",
  },
  { on: ["microvm"], file: "process/p4-forbidden-syscalls", tests: ["with a live project"], reason: LIVE },
  {
    on: ["microvm"],
    file: "process/p7-descriptors",
    reason: "its processes are a machine's, in which no descriptor of the host's can be",
  },
  { on: ["microvm"], file: "protocol/g2-nobody-reads", reason: "what it measures are the jail's processes" },
  {
    on: ["microvm"],
    file: "protocol/g1-broken-frames",
    tests: ["half a frame"],
    reason: "the backend is proven with the same guest before the run, and the proof is what fails",
  },
  {
    on: ["docker", "podman", "gvisor", "microvm"],
    file: "protocol/g1-broken-frames",
    tests: ["Ctrl-C still end the run"],
    reason: "it is found by the jail's process, which a container has not, and in which gVisor's are",
  },
];

/** Threats to parts of the host that no backend has a share in, or that a backend has not. */
interface NotThere {
  readonly on: readonly (ChosenName | "linux")[];
  readonly ids: readonly string[];
  readonly reason: string;
}

export const notThere: readonly NotThere[] = [
  {
    on: ["linux", "docker", "podman", "gvisor"],
    ids: ["F14"],
    reason: "it shares the host's kernel, or gets a copy: nothing is asked for as it is touched",
  },
  {
    on: ["docker", "podman", "gvisor", "microvm"],
    ids: ["A1", "A2", "A3", "A4", "A6", "A7", "A10", "A11"],
    reason: "answered on the host before any backend is asked, by code that knows of none",
  },
  {
    on: ["gvisor", "microvm"],
    ids: ["A9"],
    reason: "their supervisors are the linux backend's, and known in the same way",
  },
  { on: ["podman"], ids: ["A9"], reason: "known by the same labels as on docker, and by the same code" },
  {
    on: ["docker", "podman"],
    ids: ["A8", "F6"],
    reason: "images come from the engine's own store, which pulls and unpacks them itself",
  },
  { on: ["gvisor", "microvm"], ids: ["A8", "F6"], reason: "images are the linux backend's, unpacked on the host" },
  { on: ["gvisor"], ids: ["N4"], reason: "there is no resolver inside: the gateway resolves for its proxy, as in N2" },
  {
    on: ["microvm"],
    ids: ["F3", "F9"],
    reason: "nothing of the host's is live in a machine; what sync carries over is held as on linux, by the same code",
  },
  { on: ["microvm"], ids: ["P2"], reason: "whatever runs in a machine ends with it: test/faults/microvm.test.ts" },
  {
    on: ["microvm"],
    ids: ["P7"],
    reason: "no descriptor of the host's can be in a machine: it has one stream, and no files of the host's",
  },
  { on: ["microvm"], ids: ["G2"], reason: "bounds are kept by the session and by QEMU's own flow control" },
  {
    on: ["gvisor"],
    ids: ["N8", "G2"],
    reason: "bounds are kept by the gateway and the session, which are linux's own",
  },
];
