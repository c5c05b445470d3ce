/** What the files of the suite are written against: tests by capability, and sandboxes that are always ended. */
import { describe, it } from "vitest";
import type { Backend } from "../../../src/core/backend.js";
import type { Actor } from "../../support/actors.js";
import type { OwnerOrder } from "../../support/kept-owner.js";
import type { Capability } from "./capabilities.js";
import { guestOf } from "./kept-subject.js";
import { type BootOptions, Subject } from "./subject.js";

type DeclareTest = typeof it | typeof it.skip;

interface ContractParts {
  readonly actor: Actor;
  readonly backend: Backend;
  readonly lacks: ReadonlyMap<Capability, string>;
  readonly programs: OwnerOrder["programs"] | undefined;
  readonly hasImage: boolean;
  readonly guestOf?: ((folder: string) => Promise<number>) | undefined;
}

export class Contract {
  readonly actor: Actor;
  readonly backend: Backend;
  /** Its root is an image's. */
  readonly hasImage: boolean;
  readonly #lacks: ReadonlyMap<Capability, string>;
  readonly #programs: OwnerOrder["programs"] | undefined;
  readonly #guestOf: ContractParts["guestOf"];

  constructor({ actor, backend, lacks, programs, hasImage, guestOf }: ContractParts) {
    this.actor = actor;
    this.backend = backend;
    this.hasImage = hasImage;
    this.#guestOf = guestOf;
    this.#lacks = lacks;
    this.#programs = programs;
  }

  /** What another process makes the same backend from. */
  get programs(): OwnerOrder["programs"] {
    if (this.#programs === undefined) throw new Error("this backend's tests do not say what it is made from");
    return this.#programs;
  }

  /** Process 1 of the kept sandbox in this folder. */
  async guestOf(folder: string): Promise<number> {
    return await (this.#guestOf ?? guestOf)(folder);
  }

  /** For a test that kills the supervisor: a process of ours outside the walls, which an engine's sandboxes have not. */
  withSupervisor(test: DeclareTest): DeclareTest {
    return this.#guestOf === undefined ? test : it.skip;
  }

  /** The tests of one capability: run, or skipped with the backend's reason in their title. */
  capability(name: Capability, declare: (test: DeclareTest) => void): void {
    const reason = this.#lacks.get(name);
    if (reason === undefined) describe(name, () => declare(it));
    else describe(`${name} (lacking: ${reason})`, () => declare(it.skip));
  }

  has(name: Capability): boolean {
    return !this.#lacks.has(name);
  }

  /** For a test of one capability that needs another as well, which may be lacking. */
  needing(name: Capability, test: DeclareTest): DeclareTest {
    return this.#lacks.has(name) ? it.skip : test;
  }

  /** A sandbox for as long as `use` takes; afterwards nothing of it is left. */
  async sandbox<T>(options: BootOptions, use: (sandbox: Subject) => Promise<T>): Promise<T> {
    const sandbox = await Subject.boot(this.backend, options);
    try {
      return await use(sandbox);
    } finally {
      await sandbox.kill();
    }
  }
}
