/** Real TLS for tests: a certificate made by openssl, a server with it, and the bytes of real ClientHellos. */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { type ConnectionOptions, connect, createServer, type Server, type TLSSocket } from "node:tls";

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export function makeCertificate(...names: readonly string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "agentkernel-certificate-"));
  try {
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`];
    const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    execFileSync("openssl", [...made, ...subject, "-keyout", key, "-out", cert], { stdio: "pipe" });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function tlsServer(certificate: Certificate, handler: (socket: TLSSocket) => void): Server {
  return createServer({ ...certificate, allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    handler(socket);
  });
}

/** What a real client sends first. */
export async function clientHello(options: ConnectionOptions): Promise<Buffer> {
  const sent: Buffer[] = [];
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      sent.push(chunk);
      wire.emit("sent");
      done();
    },
  });
  const client = connect({ ...options, socket: wire, rejectUnauthorized: false });
  client.on("error", () => {});
  if (sent.length === 0) await once(wire, "sent");
  client.destroy();
  return Buffer.concat(sent);
}

/** The hello with one more extension, lengths made right. It must come as one record. */
export function withExtension(hello: Buffer, type: number, data: Buffer): Buffer {
  const body = hello.subarray(9);
  let at = 34;
  at += 1 + body.readUInt8(at);
  at += 2 + body.readUInt16BE(at);
  at += 1 + body.readUInt8(at);
  const extension = Buffer.concat([u16(type), u16(data.length), data]);
  const extensions = Buffer.concat([body.subarray(at + 2), extension]);
  const message = Buffer.concat([body.subarray(0, at), u16(extensions.length), extensions]);
  const length = Buffer.from([message.length >> 16, (message.length >> 8) & 255, message.length & 255]);
  return Buffer.concat([Buffer.from([22, 3, 1]), u16(message.length + 4), Buffer.from([1]), length, message]);
}

/** The same handshake bytes in records of so many bytes each. */
export function inRecords(hello: Buffer, bytes: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytes) {
    const part = message.subarray(at, at + bytes);
    records.push(Buffer.from([22, 3, 1]), u16(part.length), part);
  }
  return Buffer.concat(records);
}

function u16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}
