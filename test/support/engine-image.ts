/** Images that tests load into engines: the contract's, and those with little or nothing in them. */
import { execFileSync } from "node:child_process";
import { copyFileSync, createReadStream, mkdirSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { contractRoot } from "./debian-root.js";
import { testFolder } from "./test-folder.js";

/** Loads the contract's root into an engine; the id that it has there. */
export function loadContractImage(socketPath: string): Promise<string> {
  return loadTar(socketPath, contractRoot(), "localhost/agentkernel-contract");
}

/** One static program under a few names, and nothing else: no /etc, no /tmp, no library, as in a distroless image. */
export function loadBareImage(socketPath: string): Promise<string> {
  return loadProgram(socketPath, "localhost/agentkernel-bare", null);
}

/** The same with a list of accounts. Without one, Podman makes one up, in which root's home is the root folder. */
export function loadSmallImage(socketPath: string): Promise<string> {
  return loadProgram(socketPath, "localhost/agentkernel-small", "root:x:0:0:root:/root:/bin/sh\n");
}

async function loadProgram(socketPath: string, image: string, accounts: string | null): Promise<string> {
  const folder = mkdtempSync(join(testFolder(), "bare-"));
  mkdirSync(join(folder, "root", "bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(folder, "root", "bin", "busybox"));
  for (const name of ["sh", "sleep", "cat", "ls", "dd"]) symlinkSync("busybox", join(folder, "root", "bin", name));
  const tar = join(folder, "root.tar");
  if (accounts !== null) {
    mkdirSync(join(folder, "root", "etc"));
    writeFileSync(join(folder, "root", "etc", "passwd"), accounts);
  }
  execFileSync("tar", ["-C", join(folder, "root"), "-cf", tar, "."]);
  return await loadTar(socketPath, tar, image);
}

/** Nothing at all. */
export async function loadEmptyImage(socketPath: string): Promise<string> {
  const tar = join(mkdtempSync(join(testFolder(), "empty-")), "root.tar");
  execFileSync("tar", ["-cf", tar, "--files-from", "/dev/null"]);
  return await loadTar(socketPath, tar, "localhost/agentkernel-empty");
}

async function loadTar(socketPath: string, tar: string, name: string): Promise<string> {
  const answer = await new Promise<string>((resolve, reject) => {
    const path = `/v1.41/images/create?fromSrc=-&repo=${encodeURIComponent(name)}&tag=1`;
    const headers = { "Content-Type": "application/x-tar", "Content-Length": statSync(tar).size };
    const asked = request({ socketPath, method: "POST", path, headers }, (said) => {
      let text = "";
      said.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      said.once("end", () => resolve(text));
    });
    asked.once("error", reject);
    createReadStream(tar).pipe(asked);
  });
  const id = /sha256:[0-9a-f]{64}/.exec(answer)?.[0];
  if (id === undefined) throw new Error(`the engine did not take ${tar}: ${answer}`);
  return id;
}
