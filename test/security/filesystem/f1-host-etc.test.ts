/** The image `host` shows the machine's /etc by a rule. The attacks plant secrets in an /etc of their own. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Actor, actors, environmentOf, programOf } from "../../support/actors.js";

const mark = `mark-${randomBytes(8).toString("hex")}`;

/** Path, mode, owner (`actor` or root), text. */
const planted: readonly (readonly [string, string, "actor" | "root", string])[] = [
  // Whose name says it, readable by everybody as a mistake would have it.
  ["shadow", "644", "root", `root:$6$${mark}:19000::::::`],
  ["shadow-", "644", "root", `root:$6$${mark}:19000::::::`],
  ["sudoers.d/deploy", "644", "root", `deploy ALL=(ALL) NOPASSWD: ALL # ${mark}`],
  ["machine-id", "644", "root", mark],
  ["ssh/ssh_host_ed25519_key.pub", "644", "root", `ssh-ed25519 AAAA ${mark}`],
  ["ssl/private/server.pem", "644", "root", mark],
  ["fstab", "644", "root", `//server/share /mnt cifs username=a,password=${mark} 0 0`],
  ["krb5.keytab", "644", "root", mark],
  ["apt/auth.conf.d/registry.conf", "644", "root", `machine registry.example login a password ${mark}`],
  ["docker/config.json", "644", "root", mark],
  ["kubernetes/admin.conf", "644", "root", mark],
  ["NetworkManager/system-connections/office.nmconnection", "644", "root", `psk=${mark}`],
  ["environment", "644", "root", `NAME=${mark}`],
  ["resolv.conf", "644", "root", `search ${mark}.example`],
  ["hosts", "644", "root", `192.0.2.1 ${mark}`],
  // Whose content says it.
  [
    "app/blob",
    "644",
    "root",
    `# ${mark}\n-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKj3Nq8c2hY1\n-----END PRIVATE KEY-----`,
  ],
  ["app/settings.conf", "644", "root", `db_password = "Xk29-${mark}"`],
  ["app/remote.conf", "644", "root", `url = https://deploy:${mark}@registry.example/path`],
  // Not for everybody to read, though the user who runs the sandbox may.
  ["app/closed.conf", "600", "root", mark],
  ["app/own.conf", "600", "actor", mark],
  ["app/group.conf", "640", "actor", mark],
  ["closed/open.conf", "644", "root", mark],
  ["mounted/open.conf", "644", "root", mark],
  ["passwd", "644", "root", `root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000:${mark}:/home/alice:/bin/sh`],
];

/** In mount namespaces of their own: /etc is a copy-on-write view with all of that in it. */
function withEtc(actor: Actor, plant: string, argv: readonly string[]) {
  const [program = "", ...before] = programOf(actor);
  const place = actor.folder("etc");
  const own = `${actor.uid}:${actor.gid}`;
  const script = [
    "set -e",
    "mount -t tmpfs -o mode=755 none $0/",
    "mkdir $0/upper $0/work $0/outer",
    "mount -t overlay -o lowerdir=/etc,upperdir=$0/upper,workdir=$0/work none /etc",
    "rm -f /etc/resolv.conf /etc/machine-id /etc/fstab",
    plant,
    `exec setpriv --reuid ${actor.uid} --regid ${actor.gid} --clear-groups -- "$@"`,
  ].join("\n");
  const text = script.replaceAll("OWNER", own);
  const words = ["--mount", "--propagation", "private", "sh", "-c", text, place, program, ...before, ...argv];
  return spawnSync("unshare", words, {
    cwd: actor.folder(),
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", ...environmentOf(actor) },
  });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const plantAll = [
  ...planted.flatMap(([path, mode, owner, text]) => [
    `mkdir -p "$(dirname /etc/${path})"`,
    ...(path === "mounted/open.conf" ? ["mount -t tmpfs -o mode=755 none /etc/mounted"] : []),
    `printf '%s\\n' ${quoted(text)} >/etc/${path}`,
    ...(owner === "actor" ? [`chown OWNER /etc/${path}`] : []),
    `chmod ${mode} /etc/${path}`,
  ]),
  "chmod 700 /etc/closed",
  "chmod 755 /etc/ssl/private",
  "printf 'plain\\n' >/etc/app/plain.conf",
].join("\n");

const search = `grep -rls ${mark} /etc; cat /etc/app/plain.conf; ls /etc/app`;

describe.runIf(process.getuid?.() === 0)("F1 no secret of the machine's /etc is in the image host", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, everything that was planted is there", () => {
      const root = { ...actor, uid: 0, gid: 0, program: ["sh", "-c", search] };
      const found = withEtc(root, plantAll, []);
      for (const [path] of planted) expect(found.stdout).toContain(`/etc/${path}\n`);
    });

    it.each(["moderate", "restrictive", "permissive"])("inside, what is plain and nothing else (%s)", (profile) => {
      const ran = withEtc(actor, plantAll, ["run", "-p", profile, "--image", "host", "sh", "-c", search]);
      expect(ran.stdout).toBe("plain\nplain.conf\n");
    });

    it("a change shows in the next sandbox, and so does a secret that came into a file: by the file being gone", () => {
      const first = withEtc(actor, plantAll, ["run", "--image", "host", "cat", "/etc/app/plain.conf"]);
      expect(first.stdout).toBe("plain\n");
      const more = `${plantAll}\nprintf 'more\\n' >>/etc/app/plain.conf`;
      expect(withEtc(actor, more, ["run", "--image", "host", "cat", "/etc/app/plain.conf"]).stdout).toBe(
        "plain\nmore\n",
      );
      const secret = `${plantAll}\nprintf 'token = "Xk29-${mark}"\\n' >>/etc/app/plain.conf`;
      const last = withEtc(actor, secret, ["run", "--image", "host", "sh", "-c", "cat /etc/app/plain.conf"]);
      expect(last.stdout).toBe("");
    });
  });
});
