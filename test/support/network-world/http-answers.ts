/** What an HTTP server of the world answers: a file, a Git repository over Git's own protocol, or what it saw. */
import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join, normalize } from "node:path";
import type { TLSSocket } from "node:tls";
import type { ServerSpec, WorldRequest } from "./messages.js";

type HttpSpec = Extract<ServerSpec, { kind: "http" }>;

export function answerHttp(
  { folder, repositories }: HttpSpec,
  request: IncomingMessage,
  response: ServerResponse,
): WorldRequest {
  const serverName = "encrypted" in request.socket ? ((request.socket as TLSSocket).servername ?? false) : null;
  const seen: WorldRequest = {
    address: (request.socket.localAddress ?? "").replace(/^::ffff:/, ""),
    method: request.method ?? "",
    host: request.headers.host ?? "",
    path: request.url ?? "",
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    serverName: serverName === "" ? false : serverName,
  };
  const url = new URL(seen.path, "http://world.invalid");
  const file = folder === undefined ? null : fileOf(folder, decodeURIComponent(url.pathname));
  if (repositories !== undefined && /\.git\//.test(url.pathname)) answerGit(repositories, url, request, response);
  else if (file !== null) response.end(file);
  else if (folder !== undefined) response.writeHead(404).end();
  else response.setHeader("content-type", "application/json").end(`${JSON.stringify(seen)}\n`);
  return seen;
}

/** A folder is its `index.html`. */
function fileOf(folder: string, path: string): Buffer | null {
  const inside = join(folder, normalize(`/${path}`));
  for (const one of [inside, join(inside, "index.html")]) {
    if (statSync(one, { throwIfNoEntry: false })?.isFile() === true) return readFileSync(one);
  }
  return null;
}

/** As a web server runs `git http-backend` (CGI). */
function answerGit(repositories: string, url: URL, request: IncomingMessage, response: ServerResponse): void {
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: request.socket.remoteAddress ?? "",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => {});
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.once("close", () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf("\r\n\r\n");
    for (const line of all.subarray(0, end).toString("latin1").split("\r\n")) {
      const [, name = "", value = ""] = /^([^:]+): *(.*)$/.exec(line) ?? [];
      if (name.toLowerCase() === "status") response.statusCode = Number.parseInt(value, 10);
      else if (name !== "") response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}
