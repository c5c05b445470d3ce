/** A small authoritative name server: the names that the test gave it, and no others. Every question is on record. */
import { createSocket, type Socket } from "node:dgram";
import { createServer, isIPv4, type Server } from "node:net";
import type { DnsQuery, NameAnswers } from "./messages.js";

const TYPE_A = 1;
const TYPE_AAAA = 28;
const TYPE_CNAME = 5;
const CNAME = "cname:";
const SILENT = "silent";
const NAME_ERROR = 3;
const LARGEST_UDP = 512;
const TRUNCATED = 0x0200;
/** A response, authoritative, with the client's wish for recursion left as it was. */
const RESPONSE = 0x8400;

interface Question {
  readonly id: number;
  readonly wishes: number;
  readonly name: string;
  readonly type: number;
  /** The question as it came, to be repeated in the answer. */
  readonly bytes: Buffer;
}

export class NameServer {
  readonly queries: DnsQuery[] = [];
  readonly #names = new Map<string, readonly (readonly string[])[]>();
  readonly #asked = new Map<string, number>();

  set(name: string, answers: NameAnswers): void {
    const lists = answers.every((one) => typeof one === "string") ? [answers as readonly string[]] : answers;
    this.#names.set(name.toLowerCase(), lists as readonly (readonly string[])[]);
  }

  async listen(address: string): Promise<void> {
    await Promise.all([this.#listenUdp(address), this.#listenTcp(address)]);
  }

  #listenUdp(address: string): Promise<Socket> {
    const socket = createSocket(isIPv4(address) ? "udp4" : "udp6");
    socket.on("message", (message, from) => {
      const answer = this.#answer(message, "udp");
      if (answer === null) return;
      socket.send(answer.length > LARGEST_UDP ? truncated(message) : answer, from.port, from.address);
    });
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(53, address, () => resolve(socket));
    });
  }

  #listenTcp(address: string): Promise<Server> {
    const server = createServer((socket) => {
      let held = Buffer.alloc(0);
      socket.on("error", () => socket.destroy());
      socket.on("data", (chunk) => {
        held = Buffer.concat([held, chunk]);
        while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
          const length = held.readUInt16BE(0);
          const answer = this.#answer(held.subarray(2, 2 + length), "tcp");
          held = held.subarray(2 + length);
          if (answer === null) continue;
          const size = Buffer.alloc(2);
          size.writeUInt16BE(answer.length);
          socket.write(Buffer.concat([size, answer]));
        }
      });
    });
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(53, address, () => resolve(server));
    });
  }

  #answer(message: Buffer, transport: "udp" | "tcp"): Buffer | null {
    const question = readQuestion(message);
    if (question === null) return null;
    const { name, type } = question;
    const typeName = type === TYPE_A ? "A" : type === TYPE_AAAA ? "AAAA" : (`${type}` as const);
    this.queries.push({ name, type: typeName, transport });
    const lists = this.#names.get(name) ?? this.#names.get(name.replace(/^[^.]+/, "*"));
    if (lists === undefined) return response(question, NAME_ERROR, []);
    const key = `${name} ${type}`;
    const turn = this.#asked.get(key) ?? 0;
    this.#asked.set(key, turn + 1);
    const addresses = lists[Math.min(turn, lists.length - 1)] ?? [];
    if (addresses.includes(SILENT)) return null;
    return response(question, 0, this.#records(addresses, type));
  }

  /** Those of another name in place of a reference to it. */
  #records(answers: readonly string[], type: number): readonly DnsRecord[] {
    return answers.flatMap((one) => {
      if (!one.startsWith(CNAME)) return asRecord(recordData(one, type), type);
      const target = one.slice(CNAME.length);
      const followed = this.#names.get(target)?.[0] ?? [];
      const alias = { owner: null, type: TYPE_CNAME, data: encodedName(target) };
      return [alias, ...this.#records(followed, type).map((record) => ({ ...record, owner: record.owner ?? target }))];
    });
  }
}

interface DnsRecord {
  /** Null: the name that was asked for. */
  readonly owner: string | null;
  readonly type: number;
  readonly data: Buffer;
}

const asRecord = (data: Buffer | null, type: number): DnsRecord[] =>
  data === null ? [] : [{ owner: null, type, data }];

function encodedName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from(`\0${label}`, "latin1"));
  for (const label of labels) label[0] = label.length - 1;
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** As name servers do it: no record is cut in two. */
function truncated(message: Buffer): Buffer {
  const question = readQuestion(message);
  if (question === null) throw new Error("there was an answer to it");
  const empty = response(question, 0, []);
  empty.writeUInt16BE(empty.readUInt16BE(2) | TRUNCATED, 2);
  return empty;
}

function readQuestion(message: Buffer): Question | null {
  if (message.length < 17 || message.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += 1 + length;
  }
  if (at + 5 > message.length) return null;
  return {
    id: message.readUInt16BE(0),
    wishes: message.readUInt16BE(2) & 0x0100,
    name: labels.join(".").toLowerCase(),
    type: message.readUInt16BE(at + 1),
    bytes: message.subarray(12, at + 5),
  };
}

function recordData(address: string, type: number): Buffer | null {
  if (isIPv4(address)) return type === TYPE_A ? Buffer.from(address.split(".").map(Number)) : null;
  return type === TYPE_AAAA ? ipv6Bytes(address) : null;
}

/** `text` without an IPv4 part. */
function ipv6Bytes(text: string): Buffer {
  const [head = "", tail] = text.split("::");
  const groups = (half: string) => (half === "" ? [] : half.split(":").map((group) => Number.parseInt(group, 16)));
  const before = groups(head);
  const after = groups(tail ?? "");
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
}

function response({ id, wishes, bytes }: Question, code: number, records: readonly DnsRecord[]): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(RESPONSE | wishes | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  const answers = records.map(({ owner, type, data }) => {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(type, 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt16BE(data.length, 8);
    // The name that was asked for is the one at offset 12.
    return Buffer.concat([owner === null ? Buffer.from([0xc0, 12]) : encodedName(owner), fixed, data]);
  });
  return Buffer.concat([head, bytes, ...answers]);
}
