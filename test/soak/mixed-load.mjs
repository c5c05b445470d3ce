/** Everything that users do with a daemon, at once and in any order. Each deed checks its own outcome. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";

const LANES = 4;
const BOX = "soak-box";
const MEGABYTE = 1_000_000;

export class MixedLoad {
  #daemon;
  #project;
  #other;
  #scratch;
  #serial = 0;
  /** Its connections end with the load: Node's own would be counted among what the daemon still has. */
  #agent = new Agent({ keepAlive: true });
  counts = {};

  constructor(daemon, project) {
    this.#daemon = daemon;
    this.#project = project;
    this.#scratch = join(daemon.folder, "scratch");
    this.#other = join(this.#scratch, "other-project");
  }

  async begin() {
    mkdirSync(this.#other, { recursive: true });
    writeFileSync(join(this.#other, "name"), "the other one\n");
    await this.#expect(["create", "--no-network", "--dir", this.#other, BOX]);
    await this.#expect(["start", BOX]);
  }

  async end() {
    await this.#expect(["remove", "--force", BOX]);
    this.#agent.destroy();
    rmSync(this.#scratch, { recursive: true });
  }

  async forMs(durationMs) {
    const until = Date.now() + durationMs;
    const names = Object.keys(this.#deeds);
    const lane = async () => {
      while (Date.now() < until) await this.#do(names[Math.floor(Math.random() * names.length)]);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  async #do(name) {
    await this.#deeds[name]();
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  #deeds = {
    output: async () => {
      const { stdout } = await this.#expect(["run", "head", "-c", String(MEGABYTE), "/dev/zero"]);
      this.#same(stdout.length, MEGABYTE);
    },
    failure: async () => {
      await this.#expect(["run", "sh", "-c", "echo no >&2; exit 7"], { status: 7 });
      await this.#expect(["run", "no-such-command"], { status: 127 });
      await this.#expect(["run", "--no-such-option", "true"], { status: 125 });
    },
    "killed client": async () => {
      const started = this.#start(["run", "sh", "-c", "echo up; exec sleep 1000"]);
      await new Promise((resolve, reject) => {
        started.child.stdout.once("data", resolve);
        void started.ended.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)));
      });
      started.child.kill("SIGKILL");
      this.#same((await started.ended).signal, "SIGKILL");
    },
    exec: async () => {
      const word = String(this.#serial++);
      const { stdout } = await this.#expect(["exec", BOX, "sh", "-c", "cat; echo $0", word], { stdin: "in " });
      this.#same(String(stdout), `in ${word}\n`);
    },
    files: async () => {
      const [from, to] = ["in", "out"].map((end) => join(this.#scratch, `${end}-${this.#serial++}`));
      const inside = `${BOX}:/tmp/file-${this.#serial++}`;
      writeFileSync(from, randomBytes(100_000));
      await this.#expect(["cp", from, inside]);
      await this.#expect(["cp", inside, to]);
      await this.#expect(["exec", BOX, "rm", inside.slice(BOX.length + 1)]);
      this.#same(readFileSync(from).equals(readFileSync(to)), true);
      for (const path of [from, to]) rmSync(path);
    },
    "another project": async () => {
      const { stdout } = await this.#expect(["run", "cat", "name"], { cwd: this.#other });
      this.#same(String(stdout), "the other one\n");
    },
    "sandbox made and removed": async () => {
      const name = `soak-${this.#serial++}`;
      await this.#expect(["create", "--no-network", "--workspace", "none", name]);
      await this.#expect(["start", name]);
      const id = String((await this.#expect(["exec", "-d", name, "echo", "later"])).stdout).trim();
      this.#same(String((await this.#expect(["logs", "--follow", name, id])).stdout), "later\n");
      await this.#expect(["remove", "--force", name]);
    },
    http: async () => {
      const path = `/tmp/http-${this.#serial++}`;
      await this.#ask("PUT", `/sandboxes/${BOX}/files${path}`, "application/octet-stream", "over http");
      const command = JSON.stringify({ command: ["sh", "-c", `cat ${path}; rm ${path}`] });
      const { stdout } = await this.#ask("POST", `/sandboxes/${BOX}/exec`, "application/json", command);
      this.#same(stdout, "over http");
    },
  };

  async #expect(words, { status = 0, ...options } = {}) {
    const { ended } = this.#start(words, options);
    const result = await ended;
    if (result.status !== status) {
      throw new Error(`${words.join(" ")}: status ${result.status} in place of ${status}; ${result.stderr}`);
    }
    return result;
  }

  #start(words, { cwd = this.#project, stdin = "" } = {}) {
    const child = spawn(this.#daemon.cli, words, { cwd, env: this.#daemon.clientEnv });
    const [stdout, stderr] = [[], []];
    child.stdout.on("data", (chunk) => stdout.push(chunk));
    child.stderr.on("data", (chunk) => stderr.push(chunk));
    // A command that does not read its input closes it early.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    const ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status, signal) =>
        resolve({ status, signal, stdout: Buffer.concat(stdout), stderr: String(Buffer.concat(stderr)) }),
      );
    });
    return { child, ended };
  }

  #ask(method, path, type, body) {
    const headers = { "content-type": type, "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const asked = request(
        { agent: this.#agent, socketPath: this.#daemon.socket, method, path, headers },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk) => {
            text += chunk;
          });
          response.once("end", () => {
            if (response.statusCode === 200) resolve(JSON.parse(text).data);
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
          });
        },
      );
      asked.once("error", reject);
      asked.end(body);
    });
  }

  #same(found, wanted) {
    if (found !== wanted) throw new Error(`found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
  }
}
