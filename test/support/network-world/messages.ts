/** What the test and the servers of its world tell each other, over Node's own channel between processes. */

/** One way to serve a port; each connection is on record. */
export type ServerSpec =
  /** Answers a request with what it saw of it, as JSON, or with a file below `folder` (of
   * the host's own there, where it has a folder of its name), or with a repository below `repositories`. */
  | { readonly kind: "http"; readonly folder?: string; readonly repositories?: string; readonly tls?: TlsSpec }
  /** Sends back what it gets. */
  | { readonly kind: "echo"; readonly greeting?: string; readonly tls?: TlsSpec }
  /** Sends `bytes` zeros when connected, then ends. */
  | { readonly kind: "source"; readonly bytes: number }
  /** Says nothing and never ends. */
  | { readonly kind: "silent" }
  /** A proxy for everybody, to anywhere in the world: CONNECT, absolute addresses and SOCKS 5. */
  | { readonly kind: "open-proxy" };

export interface TlsSpec {
  readonly key: string;
  readonly cert: string;
}

/**
 * What a name resolves to: addresses, `cname:` and another name that has them, or `silent` for no answer at all. A name
 * may begin with `*` for any one label. Several lists: the first question of each type gets the first list, and so on;
 * the last one stays.
 */
export type NameAnswers = readonly string[] | readonly (readonly string[])[];

export interface DnsQuery {
  readonly name: string;
  readonly type: "A" | "AAAA" | `${number}`;
  readonly transport: "udp" | "tcp";
}

export interface WorldConnection {
  /** As the client dialled it. */
  readonly address: string;
  readonly port: number;
  readonly from: string;
}

export interface WorldRequest {
  readonly address: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The name of the ClientHello; null without TLS, false where it gave none. */
  readonly serverName: string | false | null;
}

/** Everything that reached the world, in order. */
export interface WorldRecord {
  readonly queries: readonly DnsQuery[];
  readonly connections: readonly WorldConnection[];
  readonly requests: readonly WorldRequest[];
}

export type WorldCommand =
  | { readonly do: "serve-names"; readonly address: string }
  | { readonly do: "name"; readonly name: string; readonly answers: NameAnswers }
  | { readonly do: "listen"; readonly address: string; readonly port: number; readonly server: ServerSpec }
  | { readonly do: "record"; readonly forget: boolean };

export interface WorldAnswer {
  readonly id: number;
  readonly error?: string;
  readonly port?: number;
  readonly record?: WorldRecord;
}
