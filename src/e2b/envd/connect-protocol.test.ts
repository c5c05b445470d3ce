import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { MessageStream } from "./connect-protocol.js";

/** A connection that is lost with what was written to it: Node then calls back for some writes and not for others. */
class LostConnection extends EventEmitter {
  destroyed = false;
  readonly writeHead = () => this;
  readonly write = () => false;
  readonly end = () => this;

  lose(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

it("what was lent for a message comes back when the connection is lost, once", () => {
  const connection = new LostConnection();
  const stream = new MessageStream(connection as unknown as ServerResponse);
  const returned: number[] = [];
  for (const index of [1, 2]) stream.send({ index }, () => returned.push(index));
  expect(returned).toEqual([]);
  connection.lose();
  expect(returned).toEqual([1, 2]);
  stream.send({}, () => returned.push(3));
  connection.emit("close");
  expect(returned).toEqual([1, 2, 3]);
});
