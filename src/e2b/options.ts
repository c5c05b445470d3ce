/** What `serve --e2b` is started with. */
export interface E2bOptions {
  /** Sandboxes are reached at `<port>-<id>.<domain>`. */
  readonly domain: string;
  /** Images that templates stand for, by the template's name. */
  readonly templates: ReadonlyMap<string, string>;
}

/** Every name below it is loopback by RFC 6761. */
export const USUAL_DOMAIN = "localhost";
