/** Programs as users run them against a host of that name; each prints CONTENT when it was served. */
interface Client {
  readonly name: string;
  /** A line of shell, run in a folder of its own. */
  command(host: string): string;
  /** What it says when the name may not be known. */
  readonly refusal: RegExp;
}

export const LARGE_BYTES = 64 << 20;
const CA = "/workspace/authority.crt";

const aptOptions = [
  "Dir=/tmp/apt",
  "Dir::State::status=/tmp/apt/status",
  "Dir::Etc=/tmp/apt/etc",
  "APT::Sandbox::User=",
  "Acquire::Retries=0",
  "Acquire::Languages=none",
];

function apt(host: string): string {
  const words = aptOptions.map((option) => `-o ${option}`).join(" ");
  return [
    "rm -rf /tmp/apt && mkdir -p /tmp/apt/etc/apt.conf.d /tmp/apt/var/lib/apt/lists/partial /tmp/apt/var/cache/apt/archives/partial",
    "touch /tmp/apt/status",
    `echo 'deb [trusted=yes] http://${host}/apt ./' > /tmp/apt/etc/sources.list`,
    `apt-get ${words} -q update --error-on=any`,
    `apt-get ${words} -q download demo`,
    "dpkg-deb -x demo_1.0_all.deb out && cat out/usr/share/demo",
  ].join(" && ");
}

export const clients: readonly Client[] = [
  {
    name: "curl",
    command: (host) => `curl -sS http://${host}/hello.txt && curl -sS --cacert ${CA} https://${host}/hello.txt`,
    refusal: /curl: \(6\) Could not resolve host/,
  },
  {
    name: "git over http",
    command: (host) => `git clone -q http://${host}/demo.git out && cat out/file.txt`,
    refusal: /fatal: unable to access .*Could not resolve host/,
  },
  {
    name: "git over https",
    command: (host) => `git -c http.sslCAInfo=${CA} clone -q https://${host}/demo.git out && cat out/file.txt`,
    refusal: /fatal: unable to access .*Could not resolve host/,
  },
  {
    name: "pip",
    command: (host) =>
      `python3 -m pip -q --disable-pip-version-check --retries 1 --cert ${CA} install --no-cache-dir --no-deps ` +
      `--target out --index-url https://${host}/simple/ demo && ` +
      `PYTHONPATH=out python3 -c 'import demo; print(demo.content)'`,
    refusal: /Name or service not known|Temporary failure in name resolution|No address associated/,
  },
  {
    name: "npm",
    command: (host) =>
      `npm install --silent --loglevel=error --registry=https://${host}/ --cafile=${CA} --fetch-retries=0 ` +
      `--no-audit --no-fund --no-update-notifier demo >&2 && node -p 'require("demo")'`,
    refusal: /npm error code (ENOTFOUND|EAI_AGAIN)|npm ERR! code (ENOTFOUND|EAI_AGAIN)/,
  },
  { name: "apt", command: apt, refusal: /Could not resolve|Temporary failure resolving/ },
  {
    name: "a static Go program",
    command: (host) => `/workspace/tcp-client ${host}`,
    refusal: /lookup .*(no such host|server misbehaving|connection refused)/,
  },
  {
    name: "a Java program",
    command: (host) => `java -Xmx64m -cp /workspace UrlClient http://${host}/hello.txt`,
    refusal: /java\.net\.UnknownHostException/,
  },
  {
    name: "node fetch",
    command: (host) =>
      `NODE_EXTRA_CA_CERTS=${CA} node -e 'fetch("https://${host}/hello.txt").then((a) => a.text()).then(console.log)'`,
    refusal: /ENOTFOUND|EAI_AGAIN/,
  },
  {
    name: "psql",
    command: (host) => `psql 'host=${host} user=demo dbname=postgres connect_timeout=20' -Atc "select * from demo"`,
    refusal: /psql: error: could not translate host name/,
  },
  {
    name: "nc",
    command: (host) => `printf 'delivered whole\\n' | nc -N ${host} 7`,
    refusal: /nc: getaddrinfo|name resolution|Name or service not known/,
  },
  {
    name: "a client that lets the server speak first",
    command: (host) =>
      `python3 -c 'import socket; s = socket.create_connection(("${host}", 25), 20); print(s.recv(100).decode()); ` +
      `s.sendall(b"bye\\r\\n"); assert s.recv(5) == b"bye\\r\\n"'`,
    refusal: /Name or service not known|Temporary failure in name resolution|No address associated/,
  },
  {
    name: "a large download",
    command: (host) =>
      `nc -d ${host} 9000 > big && [ $(wc -c < big) = ${LARGE_BYTES} ] && [ -z "$(tr -d '\\0' < big | head -c 1)" ] ` +
      `&& echo delivered whole`,
    refusal: /nc: getaddrinfo|name resolution|Name or service not known/,
  },
];
