/**
 * Test suites of others. Each has parts that are started one by one, so that one that hangs costs itself alone, and
 * prints results that `read` understands. What has to be compiled is compiled outside, once, into the project.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/**
 * @typedef {{ name: string, title: string, version: () => string | null, parts: readonly string[], quick: readonly string[],
 *   prepare: (project: string, parts: readonly string[]) => void, command: (part: string) => readonly string[],
 *   read: (output: string) => Map<string, string> }} Suite
 */

/** @type {Suite} */
const cpython = {
  name: "cpython",
  title: "CPython's `test`",
  version: () =>
    firstLine("python3", ["-c", "import sys, test.test_os, test.test_subprocess; print(sys.version.split()[0])"]),
  parts: [
    ...["asyncore", "dbm", "descr", "dict", "epoll", "fcntl", "file", "fileio", "fileutils", "fork1", "functools"],
    ...["genericpath", "getpass", "glob", "grp", "gzip", "hashlib", "inspect", "io", "json", "locale", "mailbox"],
    ...["memoryio", "mimetypes", "mmap", "ntpath", "openpty", "os", "pathlib", "pickle", "pipes", "platform", "poll"],
    ...["popen", "posix", "posixpath", "pty", "pwd", "queue", "random", "resource", "sched", "select", "selectors"],
    ...["shelve", "shutil", "signal", "site", "socket", "socketserver", "sqlite3", "ssl", "stat", "struct"],
    ...["subprocess", "sys", "sysconfig", "tarfile", "tempfile", "termios", "thread", "threading", "time", "tty"],
    ...["unicode_file", "urllib", "uuid", "venv", "wait3", "wait4", "wsgiref", "zipfile"],
  ].map((name) => `test_${name}`),
  quick: ["test_os", "test_posix", "test_fcntl", "test_pty", "test_grp", "test_pwd", "test_signal", "test_tempfile"],
  prepare: (project) => copyFileSync(join(here, "python-results.py"), join(project, "results.py")),
  command: (part) => ["python3", "results.py", part],
  read: (output) => linesOf(output, /^(\S+(?: \(.*\))?)\t(pass|fail|skip)$/, (id, what) => [id, what]),
};

const goResults = { PASS: "pass", FAIL: "fail", SKIP: "skip" };

/** @type {Suite} */
const go = {
  name: "go",
  title: "Go's standard library, short",
  version: () => firstLine("go", ["env", "GOVERSION"]),
  parts: [
    ...["bufio", "crypto/tls", "database/sql", "embed", "encoding/json", "io", "io/fs", "log", "log/syslog", "mime"],
    ...["net", "net/http", "net/http/httptest", "net/rpc", "os", "os/exec", "os/signal", "os/user", "path/filepath"],
    ...["runtime/pprof", "sync", "syscall", "testing", "text/template", "time"],
  ],
  quick: ["os", "os/exec", "os/signal", "os/user", "syscall", "path/filepath"],
  prepare: (project, parts) => {
    for (const part of parts) {
      const words = ["test", "-c", "-o", join(project, programOf(part)), part];
      const made = spawnSync("go", words, { encoding: "utf8", cwd: project });
      if (made.status !== 0) throw new Error(`go ${words.join(" ")}: ${made.stderr}`);
    }
  },
  // Where its data lies, as `go test` starts it.
  command: (part) => [
    ...["sh", "-c", `here=$PWD; cd "$(go env GOROOT)/src/${part}" && exec "$here/${programOf(part)}" "$@"`, "sh"],
    ...["-test.v", "-test.short", "-test.timeout=240s"],
  ],
  read: (output) =>
    linesOf(output, /^\s*--- (PASS|FAIL|SKIP): (\S+) \(/, (what, id) => [id, goResults[what] ?? "fail"]),
};

function programOf(part) {
  return `${part.replaceAll("/", "-")}.test`;
}

/** @type {readonly Suite[]} */
export const suites = [cpython, go];

function firstLine(program, words) {
  const ran = spawnSync(program, words, { encoding: "utf8" });
  return ran.status === 0 ? (ran.stdout.split("\n")[0] ?? null) : null;
}

/** A test that was told more than once has the worst of it. */
function linesOf(output, pattern, entryOf) {
  const found = new Map();
  for (const line of output.split("\n")) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const [id, what] = entryOf(match[1], match[2]);
    if (found.get(id) !== "fail") found.set(id, what);
  }
  return found;
}
