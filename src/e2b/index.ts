/**
 * src/e2b owns the API of E2B: their SDKs, unchanged, on sandboxes of ours. It translates and nothing more: what a key
 * may do, what a sandbox may do and what is recorded is decided by the parts that the HTTP interface uses too.
 */
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Door } from "../api/auth/browsers.js";
import type { Dialect, DialectHost, Upgrade } from "../api/dialect.js";
import type { Exchange } from "../api/http/exchange.js";
import { isAgentKernelError } from "../core/errors.js";
import { stateFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Sandboxes } from "../runtime/sandboxes/index.js";
import type { E2bContext } from "./context.js";
import { serveControl } from "./control/index.js";
import { serveEnvd, serveSignedFile } from "./envd/index.js";
import { Processes } from "./envd/processes.js";
import { Watchers } from "./envd/watch.js";
import { e2bError } from "./errors.js";
import type { E2bOptions } from "./options.js";
import { servePort, upgradePort } from "./port-proxy.js";
import { ENVD_PORT, requestKind } from "./request-kind.js";
import { Records } from "./sandboxes/records.js";
import { Timeouts } from "./sandboxes/timeouts.js";
import { Tokens } from "./tokens.js";

interface E2bParts extends E2bOptions {
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly sandboxes: Sandboxes;
  readonly onRemark: (line: string) => void;
}

export class E2bDialect implements Dialect {
  readonly name = "e2b";
  readonly #domain: string;
  readonly #context: Omit<E2bContext, "host">;

  private constructor(context: Omit<E2bContext, "host">) {
    this.#domain = context.domain;
    this.#context = context;
  }

  static open({ own, sandboxes, onRemark, domain, templates }: E2bParts): E2bDialect {
    const folder = join(stateFolder(own.env, own.homeDir), "e2b");
    const tokens = Tokens.open(folder);
    const records = Records.open(join(folder, "sandboxes"), onRemark);
    records.sweep(sandboxes.list());
    const timeouts = new Timeouts(records, onRemark);
    for (const sandbox of sandboxes.list()) timeouts.watch(sandbox);
    sandboxes.onEvent(({ type, sandbox }) => {
      if (type === "removed") records.forget(sandbox);
    });
    return new E2bDialect({
      domain,
      templates,
      tokens,
      records,
      timeouts,
      processes: new Processes(),
      watchers: new Watchers(),
    });
  }

  claims(request: IncomingMessage, door: Door): boolean {
    return door.kind === "tcp" && requestKind(request, this.#domain) !== null;
  }

  async serve(exchange: Exchange, door: Door, host: DialectHost): Promise<void> {
    const context = { ...this.#context, host };
    try {
      await serveKind(exchange, door, context);
    } catch (error) {
      answerError(exchange, error, host);
    }
  }

  async upgrade(upgrade: Upgrade, door: Door, host: DialectHost): Promise<void> {
    const { request, socket } = upgrade;
    try {
      const kind = requestKind(request, this.#domain);
      await host.auth.refuseStrangers(request, door);
      if (kind?.kind !== "sandbox" || kind.port === ENVD_PORT) {
        socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      await upgradePort(upgrade, kind, { ...this.#context, host });
    } catch (error) {
      const { status } = e2bError(error, host.backing.redactFor(null));
      if (!isAgentKernelError(error)) host.onFault(error, "of a connection to a sandbox's port");
      if (!socket.destroyed) socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  }

  async close(): Promise<void> {
    this.#context.timeouts.close();
  }
}

async function serveKind(exchange: Exchange, door: Door, context: E2bContext): Promise<void> {
  const kind = requestKind(exchange.request, context.domain);
  switch (kind?.kind) {
    case "control":
      return await serveControl(exchange, door, context);
    case "signed-file":
      await context.host.auth.refuseStrangers(exchange.request, door);
      return await serveSignedFile(exchange, context);
    case "sandbox":
      await context.host.auth.refuseStrangers(exchange.request, door);
      if (kind.port === ENVD_PORT) return await serveEnvd(exchange, kind.name, context);
      return await servePort(exchange, kind, context);
  }
}

function answerError(exchange: Exchange, error: unknown, host: DialectHost): void {
  const isOurs = isAgentKernelError(error) || exchange.signal.aborted || exchange.isAbandoned;
  if (!isOurs) host.onFault(error, exchange.id);
  const { status, headers, code, message } = e2bError(error, host.backing.redactFor(exchange.caller));
  exchange.error = code;
  host.backing.metrics.failed(code as Parameters<typeof host.backing.metrics.failed>[0]);
  exchange.sendJson(status, { code: status, message }, headers);
}
