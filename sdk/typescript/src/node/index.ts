/** What only Node has: Unix sockets, the user's daemon, and WebSockets that carry a key. Loaded when it is needed. */
export { daemonSocket } from "./daemon-socket.js";
export { startLocalDaemon } from "./local-daemon.js";
export { localToken } from "./local-token.js";
export { NodeTransport } from "./node-transport.js";
