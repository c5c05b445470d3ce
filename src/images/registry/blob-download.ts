/** Takes one answer's bytes of a blob. What the answer is meant to be (the rest, the whole, too much) is settled here. */
import { AgentKernelError } from "../../core/errors.js";
import { type Digest, shortDigest } from "../digest.js";
import type { Exchanger, RegistryResponse } from "./exchange.js";
import { nonsense, TransientFailure } from "./failures.js";
import type { Attempts } from "./retry.js";

export interface BlobSink {
  /** How many of the blob's first bytes are there. */
  readonly offset: number;
  write(chunk: Buffer): Promise<void>;
  /** Drops everything: the next byte is the blob's first. */
  restart(): Promise<void>;
}

interface BlobAnswer {
  readonly host: string;
  readonly digest: Digest;
  readonly sizeBytes: number;
  readonly sink: BlobSink;
  readonly answer: RegistryResponse;
  readonly attempts: Attempts;
  readonly exchanger: Exchanger;
}

/** An attempt that brought this much counts as a success of its own; less could go on for ever. */
const PROGRESS_BYTES = 1024 * 1024;

export async function receiveBlob(blob: BlobAnswer): Promise<void> {
  const { host, digest, sizeBytes, sink, answer, attempts, exchanger } = blob;
  if (answer.status === 416) {
    answer.body.destroy();
    await sink.restart();
    throw new TransientFailure(nonsense(host, `has less of blob ${shortDigest(digest)}… than it had before`));
  }
  if (answer.status === 200 && sink.offset > 0) await sink.restart();
  if (answer.status === 206 && rangeStart(answer.headers["content-range"]) !== sink.offset) {
    answer.body.destroy();
    await sink.restart();
    throw new TransientFailure(nonsense(host, `sent another part of blob ${shortDigest(digest)}… than asked for`));
  }
  let unaccounted = 0;
  for await (const chunk of exchanger.chunks(answer.body)) {
    if (sink.offset + chunk.length > sizeBytes) {
      await sink.restart();
      throw new AgentKernelError(
        "digest_mismatch",
        `${host} sent more than the ${sizeBytes} bytes that blob ${shortDigest(digest)}… has`,
        { hint: "the registry or something in between changed it; nothing of it was used" },
      );
    }
    await sink.write(chunk);
    unaccounted += chunk.length;
    if (unaccounted >= PROGRESS_BYTES) {
      unaccounted = 0;
      attempts.progressed();
    }
  }
  if (sink.offset < sizeBytes) {
    const failure = new AgentKernelError(
      "registry_error",
      `${host} sent only ${sink.offset} of the ${sizeBytes} bytes of blob ${shortDigest(digest)}…`,
      { hint: "what came is kept; another pull goes on from there" },
    );
    throw new TransientFailure(failure);
  }
}

function rangeStart(header: string | undefined): number | null {
  const match = /^bytes (\d{1,15})-/.exec(header ?? "");
  return match === null ? null : Number(match[1]);
}
