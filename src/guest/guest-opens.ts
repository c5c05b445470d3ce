/**
 * Channels that the guest opens. Version 1 serves none of them, so each is refused at once and nothing is kept but
 * the last id. What the guest sent on a channel before it saw the refusal is dropped.
 */
import { encodeJson, FrameType } from "./frame.js";
import { type JsonObject, stringMember } from "./json.js";
import type { Outbox } from "./outbox.js";
import { GuestViolation } from "./violation.js";

export class GuestOpens {
  readonly #outbox: Outbox;
  #lastId = 0;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  refuse(id: number, body: JsonObject): void {
    if (id % 2 !== 0 || id <= this.#lastId) {
      throw new GuestViolation("bad-open-id", `OPEN with id ${id} after ${this.#lastId}`);
    }
    this.#lastId = id;
    stringMember(body, "kind", 64);
    const refusal = { code: "unsupported", message: "this kind of channel is not served" };
    this.#outbox.answer(encodeJson(FrameType.failed, id, refusal));
  }

  /** Whether frames of this channel may still be under way. */
  wasRefused(id: number): boolean {
    return id % 2 === 0 && id <= this.#lastId;
  }
}
