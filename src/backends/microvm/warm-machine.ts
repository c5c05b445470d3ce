/** Machines that are restored before anybody asks for one, and are woken when somebody does. Each serves once. */
import type { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, WarmSandbox } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { RunMachine } from "./run-machine.js";

export class WarmMachine implements WarmSandbox {
  readonly over: Promise<void>;
  readonly #machine: RunMachine;
  #isTaken = false;
  #tellTaken: () => void = () => {};

  constructor(machine: RunMachine) {
    this.#machine = machine;
    const taken = new Promise<void>((resolve) => {
      this.#tellTaken = resolve;
    });
    const ended = machine.ended.then(
      () => {},
      () => {},
    );
    this.over = Promise.race([taken, ended]);
  }

  async take(spec: BootSpec, signal?: AbortSignal, onStream?: (stream: Duplex) => void): Promise<BootedSandbox> {
    if (this.#isTaken) throw new AgentKernelError("internal", "a warm sandbox was taken twice");
    this.#isTaken = true;
    this.#tellTaken();
    return await this.#machine.boot(spec, signal, onStream);
  }

  async discard(): Promise<void> {
    if (this.#isTaken) return;
    this.#isTaken = true;
    await this.#machine.kill().catch(() => {});
  }
}
