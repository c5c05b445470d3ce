/** `images lock`: which digest each image of the project is held to, and which tags have moved since. */
import { AgentKernelError } from "../../core/errors.js";
import type { Surroundings } from "../../core/surroundings.js";
import {
  type Digest,
  familiarForm,
  hostPlatform,
  type ImageLock,
  type ImageReference,
  LOCK_FILE_NAME,
  lockKey,
  parseReference,
  readLock,
  shortDigest,
  type TagOptions,
  tagDigest,
} from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { interruptible } from "../images/interruptible.js";
import { imageVerbSettings, openImageStore } from "../images/settings.js";
import { writeLock } from "../images/write-lock.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

type State = "locked" | "unchanged" | "moved" | "updated";

interface Outcome {
  readonly image: string;
  /** What it is held to after this. */
  readonly digest: Digest;
  /** Where the tag points now. */
  readonly tag_digest: Digest;
  readonly state: State;
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const { registry } = await imageVerbSettings(parsed, invocation);
  const lock = readLock(invocation.cwd);
  const wanted =
    parsed.rest.length > 0 ? parsed.rest.map(lockable) : [...lock.keys()].map((key) => parseReference(key));
  if (wanted.length === 0) {
    throw new AgentKernelError("invalid_argument", `${LOCK_FILE_NAME} locks no image yet`, {
      hint: "name one: agentkernel images lock python:3.12-alpine",
    });
  }
  return await interruptible(invocation, "locking", async (signal) => {
    const outcomes: Outcome[] = [];
    for (const reference of wanted) {
      const now = await digestNow(reference, invocation, { ...registry, signal });
      outcomes.push(outcomeOf(reference, now, lock, parsed.flags.has("update")));
    }
    const after = new Map(lock);
    for (const { image, digest } of outcomes) after.set(lockKey(parseReference(image)), digest);
    if (outcomes.some(({ state }) => state === "locked" || state === "updated")) {
      await writeLock(invocation.cwd, after);
    }
    if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: outcomes });
    return await writeOut(invocation, outcomes.map((outcome) => `${sentence(outcome)}\n`).join(""));
  });
}

function lockable(word: string): ImageReference {
  const reference = parseReference(word);
  if (reference.digest === null) return reference;
  throw new AgentKernelError("invalid_argument", `${familiarForm(reference)} names a digest and needs no lock`, {
    hint: "lock a tag: leave out what follows @",
  });
}

/** An image that was imported has no registry behind its name; what the store has is then what there is. */
async function digestNow(reference: ImageReference, surroundings: Surroundings, options: TagOptions): Promise<Digest> {
  try {
    return await tagDigest(reference, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    const stored = reference.registry === "localhost" ? await storedDigest(reference, surroundings) : null;
    if (stored === null) throw error;
    return stored;
  }
}

async function storedDigest(reference: ImageReference, surroundings: Surroundings): Promise<Digest | null> {
  const store = await openImageStore(surroundings);
  return (await store.find(reference, hostPlatform()))?.digest ?? null;
}

function outcomeOf(reference: ImageReference, now: Digest, lock: ImageLock, update: boolean): Outcome {
  const held = lock.get(lockKey(reference));
  const image = familiarForm(reference);
  if (held === undefined) return { image, digest: now, tag_digest: now, state: "locked" };
  if (held === now) return { image, digest: held, tag_digest: now, state: "unchanged" };
  return update
    ? { image, digest: now, tag_digest: now, state: "updated" }
    : { image, digest: held, tag_digest: now, state: "moved" };
}

function sentence({ image, digest, tag_digest, state }: Outcome): string {
  if (state === "locked") return `${image} is locked to ${digest}`;
  if (state === "unchanged") return `${image} is still ${shortDigest(digest)}…`;
  if (state === "updated") return `${image} is locked to ${digest} now`;
  return `${image} has moved to ${shortDigest(tag_digest)}…, and stays locked to ${shortDigest(digest)}…; --update takes the new one`;
}
