"""Drives agentkernel on a real terminal. Reads one JSON job on stdin, writes one JSON report on stdout.

job: {"argv": [...], "cwd": ..., "env": {...}, "rows": 24, "cols": 80, "steps": [...]}
steps: {"expect": regex} waits for it in the output, {"type": text} types, {"resize": [rows, cols]} resizes the window,
{"signal": number} signals agentkernel, {"kill": pid} kills another process.
The same terminal is looked at before and after, as the shell that the user comes back to would find it.
"""
import fcntl, json, os, pty, re, select, struct, sys, termios, time

job = json.load(sys.stdin)
master, slave = pty.openpty()


def resize(rows, cols):
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


resize(job["rows"], job["cols"])
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.closerange(3, 64)
    os.chdir(job["cwd"])
    os.execvpe(job["argv"][0], job["argv"], job["env"])

output = ""
seen = 0
deadline = time.monotonic() + 30


def read_some():
    global output
    ready, _, _ = select.select([master], [], [], 0.05)
    if ready:
        output += os.read(master, 65536).decode("utf-8", "replace")
    if time.monotonic() > deadline:
        os.kill(pid, 9)
        raise SystemExit("no such output: " + json.dumps(output))


for step in job["steps"]:
    if "expect" in step:
        while not (found := re.compile(step["expect"]).search(output, seen)):
            read_some()
        seen = found.end()
    elif "type" in step:
        os.write(master, step["type"].encode())
    elif "resize" in step:
        resize(*step["resize"])
    elif "signal" in step:
        os.kill(pid, step["signal"])
    elif "kill" in step:
        os.kill(step["kill"], 9)

while True:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    read_some()
while select.select([master], [], [], 0)[0]:
    output += os.read(master, 65536).decode("utf-8", "replace")
after = termios.tcgetattr(slave)
flat = lambda attributes: json.dumps(attributes, default=lambda b: b.hex())
code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
print(json.dumps({"output": output, "status": code, "restored": flat(before) == flat(after)}))
