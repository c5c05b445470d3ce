/** The clients that are compiled: in Go, without the C library, and in Java. */
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../../support/repository.js";

const here = join(repository, "test/e2e/network-clients");

export function buildPrograms(folder: string): void {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    CGO_ENABLED: "0",
    GO111MODULE: "off",
    // Go's standard library is compiled once per machine.
    GOCACHE: join(repository, ".build", "go-cache"),
  };
  const go = ["build", "-o", join(folder, "tcp-client"), join(here, "tcp-client.go")];
  execFileSync("go", go, { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  cpSync(join(here, "UrlClient.java"), join(folder, "UrlClient.java"));
  execFileSync("javac", ["UrlClient.java"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
}
