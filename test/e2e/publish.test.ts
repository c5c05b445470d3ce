/** `run --publish`: a server inside, asked from outside. */
import { get } from "node:http";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { withServer } from "../support/loopback-server.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { runIn } from "../support/run-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

/** Answers each request with its path until it is told to end. */
const SERVER = `
import http.server, sys, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"inside: {self.path}".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer((sys.argv[1], 8000), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("listening", flush=True)
sys.stdin.read()
`;

function ask(host: string, port: number, path = "/"): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ host, port, path, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.once("end", () => resolve(body));
      response.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
    request.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

async function served(actor: Actor, publish: string, use: (port: number) => Promise<void>, listenOn = "0.0.0.0") {
  const words = ["run", "--no-network", "--publish", publish, "--", "python3", "-c", SERVER, listenOn];
  const run = new WatchedCli(actor, words, { cwd: actor.folder() });
  try {
    await run.until(/listening/);
    const port = Number(/port 8000 of the sandbox is \S+:(\d+)\n/.exec(run.stderr)?.[1]);
    await use(port);
    run.child.stdin?.end();
    expect((await run.end).status, run.stderr).toBe(0);
    return port;
  } finally {
    run.child.kill("SIGKILL");
  }
}

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("a published port answers from outside, on loopback alone, and only while the run lasts", async () => {
    const port = await served(actor, "0:8000", async (free) => {
      expect(await ask("127.0.0.1", free, "/hello")).toBe("inside: /hello");
      // Any other address of this machine; a listener on all of them would answer here.
      expect(await ask("127.0.0.2", free)).toBe("ECONNREFUSED");
    });
    expect(await ask("127.0.0.1", port)).toBe("ECONNREFUSED");
  });

  it("a server that listens on loopback inside is reached too", async () => {
    await served(actor, "0:8000", async (port) => expect(await ask("127.0.0.1", port)).toBe("inside: /"), "127.0.0.1");
  });

  it("many ask at once, each gets its own answer", async () => {
    await served(actor, "0:8000", async (port) => {
      const paths = Array.from({ length: 50 }, (_, i) => `/${i}`);
      const answers = await Promise.all(paths.map((path) => ask("127.0.0.1", port, path)));
      expect(answers).toEqual(paths.map((path) => `inside: ${path}`));
    });
  });

  it("an address that is said is listened on", async () => {
    await served(actor, "127.0.0.2:0:8000", async (port) => {
      expect(await ask("127.0.0.2", port)).toBe("inside: /");
      expect(await ask("127.0.0.1", port)).toBe("ECONNREFUSED");
    });
    await served(actor, "[::1]:0:8000", async (port) => expect(await ask("::1", port)).toBe("inside: /"));
  });

  it("a port on which nobody listens inside ends the connection", async () => {
    const words = ["run", "--no-network", "--publish", "0:9", "--", "sh", "-c", "echo up; cat"];
    const run = new WatchedCli(actor, words, { cwd: actor.folder() });
    await run.until(/up/);
    const port = Number(/port 9 of the sandbox is 127\.0\.0\.1:(\d+)\n/.exec(run.stderr)?.[1]);
    expect(await ask("127.0.0.1", port)).toBe("ECONNRESET");
    run.child.stdin?.end();
    expect((await run.end).status).toBe(0);
  });

  it("a port in use is an error that names it, before the command runs", async () => {
    await withServer(
      () => {},
      async (port) => {
        const result = await runIn(actor, ["--publish", `${port}:8000`, "echo", "ran"], { cwd: actor.folder() });
        expect([result.status, result.stdout]).toEqual([125, ""]);
        expectComplaint(
          result.stderr,
          new RegExp(`127\\.0\\.0\\.1:${port} cannot be published: it is in use`),
          /0 for any/,
        );
      },
    );
  });

  it.each(["8000", "x:80", "80:0", "70000:80", "1.2.3:80:80", "80:80:80:80"])(
    "%s is not a port to publish",
    async (text) => {
      const result = await runIn(actor, ["--publish", text, "true"], { cwd: actor.folder() });
      expect(result.status).toBe(125);
      expectComplaint(result.stderr, /--publish: ".*" is not of the form/);
    },
  );
});
