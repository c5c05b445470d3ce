/** Names and contents that usually hold secrets, each of which must be hidden; and files like them that hold none. */
import { certificate, privateKeyHolding } from "./secret-files.js";

/** In every planted file, so that a search for it finds what is not hidden. */
export const PLANTED = "Zk9vT4mPq7LxW2cR";

const key = privateKeyHolding(PLANTED);
const values = `# settings\nDEBUG=1\nDB_PASSWORD=${PLANTED}\n`;
const yaml = `service:\n  user: me\n  password: "${PLANTED}"\n`;
const json = JSON.stringify({ user: "me", client_secret: PLANTED });
const serviceAccount = JSON.stringify({ type: "service_account", private_key: privateKeyHolding(PLANTED) });
const kubeconfig = `apiVersion: v1\nusers:\n- name: me\n  user:\n    token: ${PLANTED}\n`;
const aws = `[default]\naws_access_key_id = AKIA${"Q3EGRUVWZ7PLMN42"}\naws_secret_access_key = ${PLANTED}\n`;
const token = (text: string) => `# ${PLANTED}\nvalue = "gh${"p_"}1a2B3c4D5e6F7g8H9i0Jk1L2m3N4o5P6q7R8"\n${text}`;

const same = (names: readonly string[], content: string) => names.map((name) => [name, content] as const);

export const plantedSecrets: ReadonlyMap<string, string> = new Map([
  ...same(
    [".env", ".env.local", ".env.production", ".env.development", ".env.staging", ".env.test", ".env.prod", ".env~"],
    values,
  ),
  ...same(
    [".env.bak", ".env.backup", ".env.old", ".env-prod", ".env_prod", ".envrc", ".ENV.upper", "prod.env"],
    values,
  ),
  ...same(["local.env", "staging.env", "docker.env", "PROD2.ENV", ".dev.vars", ".dev.vars.production"], values),
  ...same(["api/.env", "a/b/c/.env.local", ".flaskenv", "vendor/acme/.env"], values),
  ...same(["server.pem", "server2.PEM", "private.pem", "tls/privkey.pem", "key.pem", "server-key.pem"], key),
  ...same(["server.key", "tls.key", "domain.KEY", "private.key", "jwt.key", "server.key.bak", "server.pem.old"], key),
  ...same(["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "ID_RSA2".toLowerCase(), "keys/ID_RSA", "id_rsa.old"], key),
  ...same(["deploy_key", "deploy-key", "github_rsa", "github_ed25519", "ssh_host_rsa_key", "identity", "jwt.p8"], key),
  ...same(["app.pk8", "secret.asc", "private.asc", "private-key.txt", "privatekey", "key.txt", "bundle.crt"], key),
  ...same(["all.cert", "client.ovpn", "node_modules/a/test/server.key", "vendor/b/key.pem", "key.pem~"], key),
  ["putty.ppk", `PuTTY-User-Key-File-3: ssh-ed25519\nComment: ${PLANTED}\n`],
  ["keys.txt", `# created\nAGE-SECRET-KEY-1${PLANTED.toUpperCase()}\n`],
  ["wg0.conf", `[Interface]\n# ${PLANTED}\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n`],
  ["signing.jwk", JSON.stringify({ kty: "EC", crv: "P-256", d: `${PLANTED}${PLANTED}` })],
  [".npmrc", `//registry.example.com/:_authToken=${PLANTED}\n`],
  [".yarnrc.yml", `npmAuthToken: "${PLANTED}"\n`],
  [".pypirc", `[pypi]\nusername = __token__\npassword = ${PLANTED}\n`],
  ["pip.conf", `[global]\nindex-url = x\npassword = ${PLANTED}\n`],
  [".netrc", `machine api.example.org login me password ${PLANTED}\n`],
  ["_netrc", `machine api.example.org\n  login me\n  password ${PLANTED}\n`],
  [".pgpass", `db.example.org:5432:app:me:${PLANTED}\n`],
  [".git-credentials", `https://me:${PLANTED}@github.com\n`],
  [".htpasswd", `me:$apr1$${PLANTED}\n`],
  [".htpasswd-staging", `me:{SHA}${PLANTED}\n`],
  [".docker/config.json", JSON.stringify({ auths: { r: { auth: PLANTED } } })],
  [".dockercfg", JSON.stringify({ r: { auth: PLANTED } })],
  [".dockerconfigjson", JSON.stringify({ auths: { r: { password: PLANTED } } })],
  ...same(
    [".kube/config", "kubeconfig", "kubeconfig.yaml", "prod.kubeconfig", "prod-kubeconfig.yml", "kube.config"],
    kubeconfig,
  ),
  ...same([".aws/credentials", "credentials", "aws/credentials", "credentials.ini", "aws-credentials.ini"], aws),
  ...same(
    ["credentials.json", "my-credentials.json", "client_secret.json", "client_secret_123.json", "token.json"],
    json,
  ),
  ...same(["tokens.json", "oauth.json", "auth.json", "secrets.json", "secret.json", "local.settings.json"], json),
  ...same(
    ["gcp-key.json", "gcp.json", "service-account.json", "serviceAccountKey.json", "prod-sa.json"],
    serviceAccount,
  ),
  ...same(["app-firebase-adminsdk-x1.json", "deploy_key.json"], serviceAccount),
  ...same(["secrets.yml", "secrets.yaml", "secret.yaml", "app-secrets.yaml", "db-secret.yml", "credentials.yml"], yaml),
  ...same(["SECRETS.YAML2.secret", "config/secrets.yml", "app.secrets", "prod.secret", ".secrets"], yaml),
  ...same(["secrets.toml", ".streamlit/secrets.toml", "secrets.ini", "secrets.properties", ".secrets.toml"], values),
  ...same(["terraform.tfvars", "prod.tfvars", "prod.auto.tfvars"], `db_password = "${PLANTED}"\n`),
  ...same(["terraform.tfstate", "terraform.tfstate.backup", "env/x.tfstate"], json),
  ["prod.tfvars.json", JSON.stringify({ db_password: PLANTED })],
  [".terraformrc", `credentials "app.terraform.io" {\n  token = "${PLANTED}"\n}\n`],
  [".vault-token", PLANTED],
  [".vault_pass", PLANTED],
  ["vault_pass.txt", PLANTED],
  ["config/master.key", PLANTED],
  ["config/credentials/production.key", PLANTED],
  ["secrets/db.txt", PLANTED],
  ["passwords.txt", PLANTED],
  [".my.cnf", `[client]\nuser = me\npassword = ${PLANTED}\n`],
  [".s3cfg", `[default]\nsecret_key = ${PLANTED}\n`],
  [".boto", `[Credentials]\ngs_oauth2_refresh_token = ${PLANTED}\n`],
  [".databrickscfg", `[DEFAULT]\ntoken = ${PLANTED}\n`],
  ["gradle.properties", `signing.password=${PLANTED}\n`],
  [".m2/settings.xml", `<settings><servers><server><password>${PLANTED}</password></server></servers></settings>`],
  ["nuget.config", `<add key="ClearTextPassword" value="x" /><password>${PLANTED}</password>`],
  [".cargo/credentials.toml", `[registry]\ntoken = "${PLANTED}"\n`],
  [".gem/credentials", `---\n:rubygems_api_key: ${PLANTED}\n`],
  ["wp-config.php", `<?php\ndefine( 'DB_PASSWORD', '${PLANTED}' );\n`],
  ...same(
    ["config.json", "settings.json", "config.yaml", "settings.toml", "application-prod.yml", "setup2.cfg"],
    token(""),
  ),
  ...same(["docker-compose.prod.yml", "wrangler.toml", ".env.example", "app.ini", "app.conf", ".mcp.json"], token("")),
  [".bash_history", `export X=${PLANTED}\n`],
  [".ssh/config", `Host x\n# ${PLANTED}\n`],
  [".gnupg/private-keys-v1.d/a.key", `Key: (private-key (rsa ${PLANTED}`],
  [".config/gcloud/access_tokens.db", PLANTED],
  [".codex/auth.json", JSON.stringify({ OPENAI_API_KEY: PLANTED })],
]);

/** They look like secrets by their names, or are others' test data. */
export const decoys: Readonly<Record<string, string>> = {
  "certs/ca.pem": certificate,
  "certs/cacert.pem": certificate.repeat(200),
  "certs/server.crt": certificate,
  "id_generator.py": "import uuid\n\n\ndef new_id():\n    return uuid.uuid4()\n",
  "id_map.json": "{}",
  "id_rsa.pub": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 me@example.org\n",
  "public.key": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n",
  "keys.ts": "export const keys = ['-----BEGIN PRIVATE KEY-----'];\n",
  "api/.env.example": "DB_PASSWORD=\nAPI_KEY=changeme\n",
  ".env.sample": "API_KEY=your-key-here\n",
  ".env.template": "API_KEY=\n",
  "example.env": "API_KEY=xxxxxxxx\n",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: npm's own way to name a variable
  "web/.npmrc": "fund=false\nsave-exact=true\n//registry.example.com/:_authToken=${NPM_TOKEN}\n",
  "web/.netrc": "# nothing yet\n",
  "web/config.json": '{"port": 8080}',
  "src/secrets.py": "import os\n\n\ndef password():\n    return os.environ['PASSWORD']\n",
  "src/secret.ts": "export const password = process.env.PASSWORD;\n",
  "src/credentials.ts": "export interface Login { password: string; token: Token }\nconst secret: string = read();\n",
  "src/credentials.py": "class Login:\n    password: str\n    token: Token = None\n",
  "src/tokens.json": '{"color": "#fff"}',
  "infra/dev.tfvars": 'region = "eu-west-1"\n',
  "infra/kubeconfig.yaml": "apiVersion: v1\nclusters: []\n",
  "docker/config.json": '{"auths": {}}',
  "node_modules/certifi/cacert.pem": certificate.repeat(2000),
  "node_modules/a/.env": "PASSWORD=of-a-fixture\n",
  "node_modules/a/config.json": '{"password": "of-a-fixture"}',
  "lib/site-packages/b/secrets.json": '{"password": "of-a-fixture"}',
  ".git/config": '[remote "origin"]\n\turl = https://github.com/example/example.git\n',
};
