import { Agent, request } from "node:http";
import { join } from "node:path";
import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { compare, interleaved } from "../measure.mjs";

const NAME = "bench";
const FILE = "/workspace/written.sh";
const TEXT = "exit 0\n";

export const writeExec = {
  name: "write-exec",
  promise:
    "a file written into a running sandbox, then exec of `true` there, on a kept connection to the daemon, against `bwrap --unshare-all` running `true`",
  limit: { ratio: 1 },
  async run(context, quick) {
    const daemon = new BenchDaemon(context);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const socketPath = join(daemon.variables.XDG_RUNTIME_DIR, "agentkernel", "daemon.sock");
    const ask = (method, path, type, body) => asked({ agent, socketPath, method, path }, type, body);
    const write = (text) => ask("PUT", `/sandboxes/${NAME}/files${FILE}`, "application/octet-stream", text);
    const exec = (...command) =>
      ask("POST", `/sandboxes/${NAME}/exec`, "application/json", JSON.stringify({ command }));
    try {
      await ask("POST", "/sandboxes", "application/json", JSON.stringify({ name: NAME, image: "host" }));
      // What was written is there for the command that follows, or nothing here would be measured.
      await write("exit 7\n");
      const { exit_code: code } = await exec("sh", FILE);
      if (code !== 7) throw new Error(`the file that was written ended with ${code}, not with 7`);
      const writeThen = (...command) =>
        timed(async () => {
          await write(TEXT);
          await exec(...command);
        });
      const { ours, script, bwrap } = await interleaved(
        {
          ours: () => writeThen("true"),
          script: () => writeThen("sh", FILE),
          bwrap: () => context.stopwatch.untilExit(bwrapTrue, { cwd: context.emptyProject }),
        },
        { rounds: quick ? 20 : 200, warmUps: 10, settleMs: 10 },
      );
      return { ...compare(ours, bwrap), information: { executingWhatWasWritten: compare(script, bwrap).ratio } };
    } finally {
      await ask("DELETE", `/sandboxes/${NAME}?force=true`);
      agent.destroy();
      daemon.stop();
    }
  },
};

/** The daemon's processor time is not this process's: only the wall clock counts here. */
async function timed(work) {
  const startedAt = performance.now();
  await work();
  return { wallMs: performance.now() - startedAt, cpuMs: 0 };
}

function asked(to, type, body = "") {
  const length = Buffer.byteLength(body);
  const headers = length === 0 ? {} : { "content-type": type, "content-length": length };
  return new Promise((resolve, reject) => {
    const sent = request({ ...to, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.once("end", () => {
        const { success, data, error } = JSON.parse(text);
        if (success) resolve(data);
        else reject(new Error(`${to.method} ${to.path}: ${JSON.stringify(error)}`));
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
