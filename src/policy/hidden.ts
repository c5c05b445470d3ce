/**
 * What no sandbox ever sees, whatever folder it lies in: files that hold secrets. The list is built in and can
 * only be added to. A folder that matches is hidden with all that is in it.
 */
import type { HideRule } from "../core/policy.js";

const environmentFiles = [".env*"];

const keysAndStores = ["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "id_*"];

const keyFolders = [".ssh", ".gnupg", ".password-store", ".local/share/keyrings", "Library/Keychains", ".config/sops"];

const clouds = [
  ".aws",
  ".azure",
  ".config/gcloud",
  ".boto",
  ".s3cfg",
  ".oci",
  ".config/doctl",
  ".config/rclone",
  ".databrickscfg",
  ".fly",
  ".kube",
  ".docker/config.json",
  ".config/containers/auth.json",
  ".config/helm/registry",
  ".terraform.d/credentials*",
  ".terraformrc",
  // Terraform writes passwords and keys of everything it made into its state in the clear.
  "*.tfstate",
  "*.tfstate.*",
  ".vault-token",
];

const logins = [
  ".netrc",
  "_netrc",
  ".pgpass",
  ".my.cnf",
  ".mylogin.cnf",
  ".git-credentials",
  ".config/git/credentials",
  ".config/gh/hosts.yml",
  ".config/hub",
  ".config/glab-cli",
  ".pypirc",
  ".cargo/credentials*",
  ".gem/credentials",
  ".composer/auth.json",
  ".config/composer/auth.json",
  ".m2/settings-security.xml",
  ".config/op",
];

const agents = [
  ".claude.json",
  ".claude/.credentials.json",
  ".codex/auth.json",
  ".gemini/oauth_creds.json",
  ".local/share/opencode/auth.json",
  ".config/agentkernel",
  ".local/share/agentkernel",
  ".local/state/agentkernel",
];

const histories = [
  ".bash_history",
  ".zsh_history",
  ".sh_history",
  ".local/share/fish/fish_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".sqlite_history",
  ".rediscli_history",
  ".viminfo",
  ".lesshst",
];

const browsers = [
  ".mozilla",
  ".thunderbird",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  "snap/firefox",
  "Library/Application Support/Google/Chrome",
  "Library/Application Support/Firefox",
  "Library/Cookies",
];

const system = ["etc/shadow*", "etc/gshadow*", "etc/sudoers*", "ssh_host_*_key"];

/** Ordinary files until a secret is written into them. */
const onlyWithSecret: readonly HideRule[] = [
  { glob: "**/.npmrc", containing: ["_authToken", "_auth", "_password", "npmAuthToken"] },
  { glob: "**/.yarnrc.yml", containing: ["npmAuthToken", "npmAuthIdent"] },
  { glob: "**/.yarnrc", containing: ["_authToken", "_auth", "_password"] },
  { glob: "**/pip.conf", containing: ["@"] },
  { glob: "**/.m2/settings.xml", containing: ["<password>", "<passphrase>", "<privateKey>"] },
  { glob: "**/gradle.properties", containing: ["assword", "oken", "ecret"] },
  { glob: "**/.bundle/config", containing: ["__COM:", "__ORG:", "__NET:", "__IO:", "__DEV:"] },
  { glob: "**/*credentials*.json", containing: ["private_key", "client_secret", "refresh_token"] },
  { glob: "**/*service*account*.json", containing: ["private_key"] },
  // A token in a remote's address, or the header that CI checkouts leave behind.
  {
    glob: "**/.git/config",
    containing: ["x-access-token:", "oauth2:", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "extraheader"],
  },
];

const always = [
  ...environmentFiles,
  ...keysAndStores,
  ...keyFolders,
  ...clouds,
  ...logins,
  ...agents,
  ...histories,
  ...browsers,
  ...system,
];

export const builtInHideRules: readonly HideRule[] = [
  ...always.map((name) => ({ glob: `**/${name}` })),
  ...onlyWithSecret,
];
