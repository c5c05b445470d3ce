/** A real PostgreSQL server in the world, run by an ordinary user as PostgreSQL demands. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "../actors.js";
import type { NetworkWorld } from "../network-world.js";

const VERSIONS = "/usr/lib/postgresql";

export interface Database {
  stop(): Promise<void>;
}

/** Listens on port 5432 of every address; anybody may log in. `sql` is run first. */
export async function startDatabase(world: NetworkWorld, user: Actor, sql: string): Promise<Database> {
  const version = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))[0] ?? "";
  const program = (name: string) => join(VERSIONS, version, "bin", name);
  const data = join(user.folder("database"), "data");
  const options = {
    uid: user.uid,
    gid: user.gid,
    cwd: user.home,
    env: { PATH: process.env.PATH, HOME: user.home, LC_ALL: "C" },
  };
  const words = ["-D", data, "-U", "demo", "-A", "trust", "--no-sync", "--no-instructions", "--locale=C"];
  execFileSync(program("initdb"), words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  appendFileSync(join(data, "pg_hba.conf"), "host all all all trust\n");
  const single = { ...options, input: `${sql}\n`, stdio: ["pipe" as const, "pipe" as const, "pipe" as const] };
  execFileSync(program("postgres"), ["--single", "-D", data, "postgres"], single);
  const settings = ["listen_addresses=*", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"];
  const child = world.spawnInWorld(user, [program("postgres"), "-D", data, ...settings.flatMap((one) => ["-c", one])]);
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`PostgreSQL did not start: ${log}`)));
    child.stderr?.on("data", (chunk: Buffer) => {
      log += String(chunk);
      if (log.includes("ready to accept connections")) resolve();
    });
  });
  return {
    stop: async () => {
      if (child.exitCode !== null) return;
      const gone = once(child, "exit");
      // Its immediate shutdown.
      child.kill("SIGQUIT");
      await gone;
    },
  };
}
