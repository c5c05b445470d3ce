/** Files of one sandbox. A path that does not start with a slash is below /workspace. */
import type { CallOptions, Connection } from "./connection.js";
import { AgentKernelError } from "./errors.js";
import type { FolderListing, Written } from "./records.js";

export class Files {
  readonly #connection: Connection;
  readonly #sandboxPath: string;

  constructor(connection: Connection, sandboxPath: string) {
    this.#connection = connection;
    this.#sandboxPath = sandboxPath;
  }

  async read(path: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#connection.bytes({
      ...options,
      method: "GET",
      path: this.#at(path),
      query: { format: "raw" },
    });
  }

  /** As UTF-8. */
  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** Replaces the file as a whole or not at all; folders on the way are made. `mode` is 0o644 unless it is given. */
  async write(
    path: string,
    content: string | Uint8Array<ArrayBuffer>,
    { mode, ...options }: CallOptions & { readonly mode?: number | undefined } = {},
  ): Promise<Written> {
    return await this.#connection.data<Written>({
      ...options,
      method: "PUT",
      path: this.#at(path),
      query: { mode: mode?.toString(8).padStart(3, "0") },
      bytes: typeof content === "string" ? new TextEncoder().encode(content) : content,
    });
  }

  async makeFolder(path: string, options: CallOptions = {}): Promise<Written> {
    return await this.#connection.data<Written>({
      ...options,
      method: "PUT",
      path: this.#at(path),
      query: { type: "dir" },
    });
  }

  async list(path = "/workspace", options: CallOptions = {}): Promise<FolderListing> {
    const found = await this.#connection.data<FolderListing | { readonly type: "file" }>({
      ...options,
      method: "GET",
      path: this.#at(path),
      query: { format: "json" },
    });
    if (found.type !== "dir") throw new AgentKernelError(`${path} is not a folder`);
    return found;
  }

  async remove(
    path: string,
    { recursive, ...options }: CallOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    await this.#connection.data({ ...options, method: "DELETE", path: this.#at(path), query: { recursive } });
  }

  #at(path: string): string {
    const absolute = path.startsWith("/") ? path : `/workspace/${path}`;
    return `${this.#sandboxPath}/files/${absolute.slice(1).split("/").map(encodeURIComponent).join("/")}`;
  }
}
