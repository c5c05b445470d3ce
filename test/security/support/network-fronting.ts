/** Programs that say one name where it is asked for and another where it is spoken to. */

/**
 * Sends hellos to the TLS port of its first argument, made by OpenSSL and changed by hand; the second is the name to
 * hide. Prints "what answer" for each: hello (the server went on with the handshake), alert or nothing.
 */
export const HELLOS = `
import socket, ssl, struct, sys
front, hidden = sys.argv[1:3]
def hello(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try: context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return out.read()
def body(record): return record[9:]
def record(content, version=0x0301, size=16384):
    return b"".join(struct.pack(">BHH", 22, version, len(content[i:i + size])) + content[i:i + size] for i in range(0, len(content), size))
def message(content): return b"\\1" + len(content).to_bytes(3, "big") + content
def with_extension(content, kind, data):
    at = 34
    at += 1 + content[at]
    at += 2 + int.from_bytes(content[at:at + 2], "big")
    at += 1 + content[at]
    extensions = struct.pack(">HH", kind, len(data)) + data + content[at + 2:]
    return content[:at] + struct.pack(">H", len(extensions)) + extensions
def server_name(*names):
    entries = b"".join(b"\\0" + struct.pack(">H", len(n)) + n for n in names)
    return struct.pack(">H", len(entries)) + entries
plain, other = hello(front), hello(hidden)
nameless = body(hello(None))
ech = bytes([0, 0, 1, 0, 1, 7, 0, 32]) + bytes(32) + struct.pack(">H", 160) + bytes(160)
variants = {
    "same-name": plain,
    "upper-case": record(message(with_extension(nameless, 0, server_name(front.upper().encode())))),
    "other-name": other,
    "no-name": hello(None),
    "encrypted-hello": record(message(with_extension(body(plain), 0xfe0d, ech))),
    "one-byte-records": record(other[5:], size=1),
    "empty-record-of-another-type": bytes([20, 3, 1, 0, 0]) + other,
    "empty-record-of-its-own": bytes([22, 3, 1, 0, 0]) + other,
    "two-names": record(message(with_extension(nameless, 0, server_name(front.encode(), hidden.encode())))),
    "name-with-a-nul": record(message(with_extension(nameless, 0, server_name(front.encode() + b"\\0." + hidden.encode())))),
}
for what, data in variants.items():
    answer = b""
    try:
        with socket.create_connection((front, 443), 8) as s:
            s.settimeout(2)
            s.sendall(data)
            answer = s.recv(4096)
    except OSError: pass
    print(what, "hello" if answer[:1] == b"\\x16" else "alert" if answer[:1] == b"\\x15" else "nothing", flush=True)
`;

/**
 * Sends texts of its second argument (JSON: what to text) to port 80 of the name in its first, and prints "what" and
 * the numbers of the answers, as one line of JSON each.
 */
export const SPEAK = `
import json, re, socket, sys
for what, text in json.loads(sys.argv[2]).items():
    answer = b""
    try:
        with socket.create_connection((sys.argv[1], 80), 8) as s:
            s.settimeout(1)
            s.sendall(text.encode("latin1"))
            while True:
                part = s.recv(65536)
                if not part: break
                answer += part
    except OSError: pass
    print(json.dumps([what, re.findall(r"HTTP/1.1 (\\d+)", answer.decode("latin1"))]), flush=True)
`;

const CRLF = "\r\n";

/** Requests on one connection to `front` that mean `hidden`. The first two are as they should be. */
export function frontingRequests(front: string, hidden: string): Readonly<Record<string, string>> {
  const get = (host: string, path = "/", more: readonly string[] = []) =>
    [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...more, "", ""].join(CRLF);
  const close = ["Connection: close"];
  const post = (headers: readonly string[], body: string) =>
    ["POST / HTTP/1.1", `Host: ${front}`, ...headers, "", body].join(CRLF);
  const hiddenLast = get(hidden, "/", close);
  return {
    "as allowed": get(front, "/", close),
    "two as allowed": get(front) + get(front, "/", close),
    "another Host": hiddenLast,
    "another Host in capitals": hiddenLast.replace("Host:", "HOST:"),
    "pipelined behind an allowed one": get(front) + hiddenLast,
    "behind a body": post(["Content-Length: 4"], "body") + hiddenLast,
    "behind chunks": post(["Transfer-Encoding: chunked"], `4${CRLF}body${CRLF}0${CRLF}${CRLF}`) + hiddenLast,
    "length beside chunks": post(["Content-Length: 5", "Transfer-Encoding: chunked"], `0${CRLF}${CRLF}`) + hiddenLast,
    "two lengths": post(["Content-Length: 0", `Content-Length: ${hiddenLast.length}`], hiddenLast),
    "an odd coding": post(["Transfer-Encoding: xchunked"], `0${CRLF}${CRLF}`) + hiddenLast,
    "a space before the colon": post([`Content-Length : ${hiddenLast.length}`], hiddenLast),
    "a folded line": post(["X-A: b", ` Content-Length: ${hiddenLast.length}`], hiddenLast),
    "bare line feeds": get(front).replaceAll(CRLF, "\n") + hiddenLast.replaceAll(CRLF, "\n"),
    "two Hosts": get(front, "/", [`Host: ${hidden}`, ...close]),
    "two Hosts, the other first": get(hidden, "/", [`Host: ${front}`, ...close]),
    "an absolute address with another Host": get(front, `http://${hidden}/`, close),
    "an absolute address of the other": get(hidden, `http://${hidden}/`, close),
    "the other as Host of an allowed address": get(hidden, `http://${front}/`, close),
    "no Host": `GET / HTTP/1.0${CRLF}${CRLF}`,
    "no Host and an absolute address": `GET http://${hidden}/ HTTP/1.0${CRLF}${CRLF}`,
    "after empty lines": `${CRLF}${CRLF}${hiddenLast}`,
    "no version": `GET /${CRLF}Host: ${hidden}${CRLF}${CRLF}`,
    "the version of RTSP": `DESCRIBE rtsp://${hidden}/ RTSP/1.0${CRLF}Host: ${hidden}${CRLF}${CRLF}`,
    "HTTP/2 without TLS": `PRI * HTTP/2.0${CRLF}${CRLF}SM${CRLF}${CRLF}`,
    "a change to HTTP/2": get(front, "/", [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABk",
    ]),
    "behind a change that is not granted": get(front, "/", ["Connection: Upgrade", "Upgrade: websocket"]) + hiddenLast,
    "with a user name": get(`${front}@${hidden}`, "/", close),
    "with a port": get(`${hidden}:80`, "/", close),
  };
}
