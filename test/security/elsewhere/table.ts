/**
 * The security suite on backends other than linux: which of its attacks each run of the tests makes there. What cannot
 * be made, and why, is in exemptions.ts. The attacks are those of the suite itself, in its own files; every run in them is
 * on the backend that the test project is about. With AGENTKERNEL_TEST_THOROUGH=1 all of a file is tried, and every file.
 */
interface Attack {
  /** The threat, as in ../threats.ts. */
  readonly id: string;
  /** In this folder's parent. */
  readonly file: string;
  /** Parts of full titles. The attack outside is shown on linux, in the same run of all tests. */
  readonly tests: readonly string[];
}

export const attacks: readonly Attack[] = [
  {
    id: "F1",
    file: "filesystem/f1-read-outside",
    tests: [
      "by path, with the workspace as mount",
      "in the project, as sync",
      "by searching everything",
      "home folder",
    ],
  },
  {
    id: "F1",
    file: "filesystem/f1-project-mount",
    tests: ["leads to it, as copy", "shown and not copied", "no call changes"],
  },
  {
    id: "F2",
    file: "filesystem/f2-write-outside",
    tests: [
      "workspace as copy undefined",
      "workspace as mount undefined",
      "a writable mount only",
      "stays as it is, under restrictive",
      "devices, under moderate",
    ],
  },
  {
    id: "F2",
    file: "filesystem/f2-sync",
    tests: ["a setuid bit", "moved away", "became a link", "a terabyte", "folders in folders"],
  },
  { id: "F2", file: "filesystem/f2-set-id-bits", tests: ["with --workspace mount", "writable mount beside"] },
  { id: "F2", file: "filesystem/f2-mount-points", tests: ["sync: one that does not exist", "mount: a link"] },
  {
    id: "F3",
    file: "filesystem/f3-protected",
    tests: [
      ".git/hooks/pre-commit, which is there",
      ".claude/settings.json, which is not there",
      "is gone after the run",
    ],
  },
  {
    id: "F3",
    file: "filesystem/f3-git-state",
    tests: [
      "'a step of a rebase in a worktree'",
      "'an index with a hook'",
      "'a log that is a link'",
      "'a replacement in the packed references'",
    ],
  },
  { id: "F3", file: "filesystem/f3-git", tests: ["own configuration", "the configuration of a bare"] },
  { id: "F4", file: "filesystem/f4-remount", tests: ["under restrictive"] },
  { id: "F5", file: "filesystem/f5-copies", tests: ["paths and links", "sparse and endless", "set-id bits"] },
  { id: "F7", file: "filesystem/f7-fill-the-disk", tests: ["temporary folders", "other sandboxes"] },
  {
    id: "F8",
    file: "filesystem/f8-project-secrets",
    tests: [
      ...["by any path, as copy", "by any path, as mount", "command runs, as copy", "command runs, as sync"],
      ...["moved, linked or made anew, as copy", "a mount beside the workspace"],
    ],
  },
  {
    id: "F13",
    file: "filesystem/f13-git",
    tests: [
      "sync: 'a commit without them'",
      "sync: 'an index without them'",
      "sync: 'an object of theirs",
      "sync: 'a submodule in",
    ],
  },
  { id: "F11", file: "filesystem/f11-own-programs", tests: ["inside, no later command"] },
  {
    id: "F9",
    file: "filesystem/f9-renamed-parents",
    tests: ["no call renames it", "in use meanwhile finds no secret", "as ever"],
  },
  { id: "F12", file: "filesystem/f12-raced-search", tests: ["find no secret", "judged as it is copied"] },
  { id: "F10", file: "filesystem/f10-spellings", tests: ["in capitals too, as sync", "not carried over under any"] },
  {
    id: "N1",
    file: "network/n1-network-off",
    tests: ["none does (off)", "none does (on)", "and its own (moderate)", "the project (mount)"],
  },
  { id: "N2", file: "network/n2-not-public", tests: ["inside (on)"] },
  { id: "N3", file: "network/n3-rebinding", tests: ["not dialled again (on)", "with a private address first"] },
  { id: "N4", file: "network/n4-dns-exfiltration", tests: ["with an allowlist by any"] },
  { id: "N5", file: "network/n5-confused-names", tests: ["is neither asked for nor reached", "with an empty list"] },
  { id: "N6", file: "network/n6-fronting", tests: ["with another Host to the server", "proxy as well"] },
  { id: "N7", file: "network/n7-proxies", tests: ["inside, to nothing", "WebSocket through"] },
  { id: "N8", file: "network/n8-exhaustion", tests: ["slow requests"] },
  { id: "N9", file: "network/n9-other-sandboxes", tests: ["published port (on)"] },
  { id: "P1", file: "process/p1-bombs", tests: ["fork: the limit", "anonymous memory", "descriptors run out"] },
  { id: "P2", file: "process/p2-survive", tests: ["the time is up", "kill -9"] },
  {
    id: "P3",
    file: "process/p3-attack-the-guest",
    tests: ["process 1 (moderate)", "$PPID (moderate)", "every signal", "is not there to be signalled"],
  },
  { id: "P4", file: "process/p4-forbidden-syscalls", tests: ["inside, by default", "clone3", "with a live project"] },
  {
    id: "P5",
    file: "process/p5-privilege-gain",
    tests: ["gains nothing (copy, --user", "a setuid file that root", "nobody special"],
  },
  {
    id: "P6",
    file: "process/p6-host-facts",
    tests: ["lies (copy, moderate)", "root of all cgroups", "closed (moderate)"],
  },
  { id: "P9", file: "process/p9-around-the-filter", tests: ["by default, no pair"] },
  { id: "P7", file: "process/p7-descriptors", tests: ["holds the rest (with pipes)"] },
  { id: "P8", file: "process/p8-escape-sequences", tests: ["a command that is not there", "not carried over"] },
  {
    id: "G1",
    file: "protocol/g1-broken-frames",
    tests: [
      "DATA of 4 GiB",
      "credit ignored: the sandbox",
      "then nothing: a time limit still ends it (play)",
      "then the end (die)",
    ],
  },
  { id: "G2", file: "protocol/g2-nobody-reads", tests: ["on stream 1"] },
  { id: "G3", file: "protocol/g3-other-sandboxes", tests: ["cannot end or answer", "prints frames"] },
  {
    id: "A5",
    file: "agents/a5-project-widens",
    tests: ["agentkernel.toml: the ceiling holds", "sync none of those in use"],
  },
];

/** What a run of the tests opens at all. */
export function filesElsewhere(): readonly string[] {
  if (process.env.AGENTKERNEL_TEST_THOROUGH === "1")
    return ["filesystem/f[1-57-8]-*", "{process,network,protocol}/*", "agents/a5-*"];
  return [...new Set(attacks.map(({ file }) => file))];
}
