// As much of a registry of npm's as `npm publish` and `npm install` ask for; in memory, on loopback: PORT.
// It keeps what was published as it came, so that npm's own checks of digests hold from end to end.
import { createServer } from "node:http";

const packages = new Map();
const tarballs = new Map();

function publish(name, { versions, "dist-tags": tags, _attachments: attachments }) {
  const known = packages.get(name) ?? { _id: name, name, versions: {}, "dist-tags": {} };
  const [{ data }] = Object.values(attachments);
  for (const [version, manifest] of Object.entries(versions)) {
    known.versions[version] = manifest;
    tarballs.set(decodeURIComponent(new URL(manifest.dist.tarball).pathname), Buffer.from(data, "base64"));
  }
  Object.assign(known["dist-tags"], tags);
  packages.set(name, known);
}

async function answer(request) {
  const path = decodeURIComponent(new URL(request.url, "http://registry").pathname);
  const name = path.slice(1);
  if (request.method === "PUT") {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    publish(name, JSON.parse(Buffer.concat(chunks).toString("utf8")));
    return { status: 201, body: "{}" };
  }
  const body = path === "/-/ping" ? "{}" : (tarballs.get(path) ?? packages.get(name));
  if (body === undefined) return { status: 404, body: "{}" };
  return { status: 200, body: Buffer.isBuffer(body) ? body : JSON.stringify(body) };
}

const server = createServer((request, response) => {
  answer(request).then(
    ({ status, body }) => response.writeHead(status).end(body),
    (error) => response.writeHead(500).end(String(error)),
  );
});
server.listen(Number(process.argv[2]), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));
