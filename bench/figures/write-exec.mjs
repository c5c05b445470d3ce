import { join } from "node:path";
import { bwrapTrue } from "../bwrap.mjs";
import { BenchDaemon } from "../daemon.mjs";
import { HttpClient } from "../http-client.mjs";
import { compare, interleaved } from "../measure.mjs";
import { timed } from "./http.mjs";

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
    const client = new HttpClient({ path: join(daemon.variables.XDG_RUNTIME_DIR, "agentkernel", "daemon.sock") });
    const write = (text) => client.ask("PUT", `/sandboxes/${NAME}/files${FILE}`, text);
    const exec = (...command) => client.ask("POST", `/sandboxes/${NAME}/exec`, { command });
    try {
      await client.ask("POST", "/sandboxes", { name: NAME, image: "host" });
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
      await client.ask("DELETE", `/sandboxes/${NAME}?force=true`);
      client.close();
      daemon.stop();
    }
  },
};
