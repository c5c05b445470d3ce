/** src/api/metrics owns what the server counts of itself and of the sandboxes of its process, and how it tells it. */
import { version } from "../../core/version.js";
import type { Meter } from "../../runtime/meter.js";
import { Counter, Gauge, Histogram } from "./figures.js";

/** Gauges that are read when metrics are asked for. */
interface LiveFigures {
  readonly requestsNow: () => number;
  readonly commandsRunning: () => number;
  readonly commandsWaiting: () => number;
  /** By state; null where there are no named sandboxes in this process. */
  readonly sandboxes: () => Readonly<Record<string, number>> | null;
  readonly pool: () => { readonly warm: number; readonly inUse: number } | null;
}

const nothingLive: LiveFigures = {
  requestsNow: () => 0,
  commandsRunning: () => 0,
  commandsWaiting: () => 0,
  sandboxes: () => null,
  pool: () => null,
};

export class Metrics implements Meter {
  readonly #requests = new Counter("agentkernel_http_requests_total", "Requests answered, by operation and status.");
  readonly #durations = new Histogram(
    "agentkernel_http_request_duration_seconds",
    "From a request's head to its answer's end.",
  );
  readonly #errors = new Counter("agentkernel_errors_total", "Errors answered, by code.");
  readonly #starts = new Counter(
    "agentkernel_sandbox_starts_total",
    "Sandboxes started, by kind and by whether a warm one was taken.",
  );
  readonly #startDurations = new Histogram(
    "agentkernel_sandbox_start_duration_seconds",
    "From the request for a sandbox until it is ready.",
  );
  readonly #startFailures = new Counter(
    "agentkernel_sandbox_start_failures_total",
    "Sandboxes that could not be started, by code.",
  );
  readonly #commands = new Counter(
    "agentkernel_commands_total",
    "Commands that have ended, by whether their time was up.",
  );
  readonly #commandDurations = new Histogram("agentkernel_command_duration_seconds", "How long commands ran.");
  readonly #egress = new Counter("agentkernel_egress_decisions_total", "Connections out of sandboxes, by verdict.");
  #live: LiveFigures = nothingLive;

  /** From now on these are told too. */
  watch(live: LiveFigures): void {
    this.#live = live;
  }

  answered(operation: string, status: number, ms: number): void {
    this.#requests.add({ operation, status: String(status) });
    this.#durations.observeMs(ms, { operation });
  }

  failed(code: string): void {
    this.#errors.add({ code });
  }

  started({ kind, isWarm, ms }: Parameters<Meter["started"]>[0]): void {
    this.#starts.add({ kind, start: isWarm ? "warm" : "cold" });
    this.#startDurations.observeMs(ms, { kind, start: isWarm ? "warm" : "cold" });
  }

  startFailed(code: string): void {
    this.#startFailures.add({ code });
  }

  ended({ ms, timedOut }: Parameters<Meter["ended"]>[0]): void {
    this.#commands.add({ timed_out: String(timedOut) });
    this.#commandDurations.observeMs(ms);
  }

  egress(verdict: "allowed" | "denied"): void {
    this.#egress.add({ verdict });
  }

  text(): string {
    const { requestsNow, commandsRunning, commandsWaiting, sandboxes, pool } = this.#live;
    const byState = sandboxes();
    const states = Object.entries(byState ?? {}).map(
      ([state, count]) => `agentkernel_sandboxes{state="${state}"} ${count}\n`,
    );
    const figures = [
      this.#requests,
      this.#durations,
      this.#errors,
      this.#starts,
      this.#startDurations,
      this.#startFailures,
      this.#commands,
      this.#commandDurations,
      this.#egress,
      new Gauge("agentkernel_http_requests_in_flight", "Requests that are being answered.", requestsNow),
      new Gauge("agentkernel_commands_running", "Places taken by commands of requests.", commandsRunning),
      new Gauge("agentkernel_commands_waiting", "Requests that wait for a place.", commandsWaiting),
      new Gauge("agentkernel_pool_warm", "Warm sandboxes that wait.", () => pool()?.warm ?? null),
      new Gauge("agentkernel_pool_in_use", "Sandboxes of the pool that serve a command.", () => pool()?.inUse ?? null),
      new Gauge("process_resident_memory_bytes", "Memory of the server.", () => process.memoryUsage.rss()),
    ];
    return [
      "# HELP agentkernel_info The version that runs.\n# TYPE agentkernel_info gauge\n",
      `agentkernel_info{version="${version}"} 1\n`,
      ...(byState === null
        ? []
        : ["# HELP agentkernel_sandboxes Named sandboxes, by state.\n# TYPE agentkernel_sandboxes gauge\n", ...states]),
      ...figures.map((figure) => figure.text()),
    ].join("");
  }
}
