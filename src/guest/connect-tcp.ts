/** A connection from the host to a port inside the sandbox, as a stream. */
import type { Duplex } from "node:stream";
import { deferred } from "../core/deferred.js";
import { AgentKernelError } from "../core/errors.js";
import { ChannelStream } from "./channel-stream.js";
import type { OpenChannel } from "./exec.js";
import { FrameType } from "./frame.js";
import { type GuestRefusal, readCloseRefusal } from "./messages.js";

const WRITE_AHEAD_BYTES = 262_144;

export function connectTcp(open: OpenChannel, port: number): Promise<Duplex> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new AgentKernelError("invalid_argument", `${port} is no port of the sandbox: it must be 1 to 65535.`);
  }
  const connected = deferred<Duplex>();
  let stream: ChannelStream | null = null;
  const cutOff = (error: Error) => {
    connected.reject(error);
    stream?.destroy(error);
  };
  const channel = open(
    { inbound: [1], outbound: true, terminal: FrameType.close, keepsInput: true },
    { kind: "tcp-in", port },
    {
      opened: () => {
        stream = new ChannelStream({
          inbound: channel.inbound(1),
          outbound: channel.requireOutbound(),
          writeAheadBytes: WRITE_AHEAD_BYTES,
          beforeSend: () => {},
          released: () => {
            if (!channel.inbound(1).ended || !channel.requireOutbound().eofSent) channel.close();
          },
        });
        // Whoever holds the stream listens; until then, that it was cut off is known by its being destroyed.
        stream.on("error", () => {});
        connected.resolve(stream);
      },
      failed: (refusal) => connected.reject(refused(refusal, port)),
      closed: (body) => {
        const why = readCloseRefusal(body);
        if (why) cutOff(Object.assign(new Error(why.message), { code: "ECONNRESET" }));
      },
      lost: cutOff,
    },
  );
  return connected.promise;
}

function refused({ code, message }: GuestRefusal, port: number): AgentKernelError {
  if (code === "refused") {
    return new AgentKernelError("not_found", `nothing in the sandbox listens on port ${port}`, {
      hint: "start the server first, and let it listen on 127.0.0.1, ::1 or all addresses",
    });
  }
  const kind = code === "resource" ? "resource_exhausted" : "internal";
  return new AgentKernelError(kind, `port ${port} of the sandbox cannot be reached: ${message}`, { details: { code } });
}
