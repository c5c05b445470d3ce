/** What is observed of a sandbox from outside, each by one command. */
import type { CliResult } from "../../support/run-cli.js";

export interface Observation {
  readonly what: string;
  readonly options?: readonly string[];
  readonly stdin?: string;
  /** `port`: of a server on the host's loopback. */
  command(port: number): readonly string[];
  /** The whole sandbox may end by it, where its kernel is its own. */
  readonly mayEndAll?: boolean;
  /** For the table. */
  seen(ran: CliResult): string;
}

const sh = (script: string) => () => ["sh", "-c", script];
const status = ({ status }: CliResult) => `status ${status}`;
const lines = ({ stdout }: CliResult) => stdout.trimEnd().split("\n").join(", ");

const FORKS = "(i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i + 1)); done; echo not held) 2>/dev/null || echo held";

export const observations: readonly Observation[] = [
  { what: "a command's own status", command: sh("exit 7"), seen: status },
  { what: "a command that is not there", command: () => ["no-such-command"], seen: status },
  { what: "one that is no program", command: () => ["./a.txt"], seen: status },
  { what: "one that a signal ends", command: sh("kill -KILL $$"), seen: status },
  {
    what: "a time limit of 1 s",
    options: ["--timeout", "1s"],
    command: sh("sleep 100 & sleep 100"),
    seen: status,
  },
  {
    what: "stdout and stderr",
    command: sh("echo to stdout; echo to stderr >&2"),
    seen: ({ stdout, stderr }) => `${stdout.trim()} apart from ${/^to stderr$/m.exec(stderr)?.[0] ?? "nothing"}`,
  },
  { what: "input", stdin: "from the caller\n", command: () => ["cat"], seen: lines },
  {
    what: "folder, user, home, search path",
    command: sh('pwd; busybox id -u; echo "$HOME"; echo "$PATH"'),
    seen: lines,
  },
  {
    what: "names of variables",
    command: sh("busybox env | busybox cut -d= -f1 | busybox grep -v SHLVL | busybox sort"),
    seen: lines,
  },
  { what: "the project", command: sh("busybox find . -type f | busybox sort; cat a.txt"), seen: lines },
  { what: "a secret in the project", command: sh("cat .env 2>/dev/null || echo not there"), seen: lines },
  {
    what: "changes of the project, the root and /tmp",
    command: sh("for f in a.txt /f /tmp/f; do echo changed > $f && cat $f; done"),
    seen: (ran) => `${lines(ran)} inside, nothing on the host`,
  },
  { what: "its host name", command: sh("busybox uname -n | busybox sed 's/[0-9a-f]\\{12\\}$/<id>/'"), seen: lines },
  {
    what: "capabilities of root",
    command: sh("busybox sed -n 's/^CapBnd:.//p' /proc/self/status"),
    seen: lines,
  },
  {
    what: "the host's loopback",
    command: (port) => [
      "sh",
      "-c",
      `busybox wget -q -T 5 -O - http://127.0.0.1:${port}/ 2>/dev/null || echo not reached`,
    ],
    seen: lines,
  },
  { what: "open files", command: sh("ulimit -n"), seen: lines },
  { what: "a limit of 64 processes", command: sh(FORKS), seen: lines },
  {
    what: "more memory than the 192 MiB there are",
    command: () => ["busybox", "tail", "/dev/zero"],
    mayEndAll: true,
    seen: ({ status: code }) => (code === 0 || code === 124 ? "had" : "refused"),
  },
  {
    what: "`--profile restrictive`: user, capabilities, root, project",
    options: ["--profile", "restrictive"],
    command: sh(
      "busybox id -u; busybox sed -n 's/^CapBnd:.//p' /proc/self/status; for f in /f a.txt; do (echo x > $f) 2>/dev/null || echo read-only; done",
    ),
    seen: lines,
  },
];
