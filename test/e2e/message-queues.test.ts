/** POSIX message queues, which lie in a file system that no path of a sandbox's root leads to. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";

const source = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
queue = libc.mq_open(b"/jobs", os.O_CREAT | os.O_RDWR, 0o600, None)
if queue < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
libc.mq_send(queue, b"hello", 5, 0)
room = ctypes.create_string_buffer(8192)
length = libc.mq_receive(queue, room, 8192, None)
print(room.raw[:length].decode(), os.listdir("/dev/mqueue"))
`;

describe.each(actors)("as $name", (actor) => {
  it.each(["moderate", "permissive", "restrictive"])(
    "%s: a queue takes a message and gives it back",
    async (profile) => {
      const cwd = makeProject(actor, {}).path;
      expect(await runIn(actor, ["-p", profile, "python3", "-c", source], { cwd })).toMatchObject({
        status: 0,
        stdout: "hello ['jobs']\n",
      });
    },
  );

  it("each sandbox has queues of its own", async () => {
    const cwd = makeProject(actor, {}).path;
    for (const _ of [1, 2]) {
      const script = `${source}\nprint(libc.mq_open(b"/jobs", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600, None))`;
      expect((await runIn(actor, ["python3", "-c", script], { cwd })).stdout).toBe("hello ['jobs']\n-1\n");
    }
  });
});
