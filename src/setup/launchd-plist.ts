/** A property list for launchd. */
import { OWN_MARK } from "./systemd-unit.js";

interface PlistOptions {
  readonly label: string;
  readonly argv: readonly string[];
  readonly variables: readonly (readonly [string, string])[];
  readonly logPath: string;
}

const OWNER_ONLY_UMASK = 0o077;

export function launchdPlist({ label, argv, variables, logPath }: PlistOptions): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${OWN_MARK}; what it would change is shown first. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${text(label)}
  <key>ProgramArguments</key>
  <array>
${argv.map((word) => `    ${text(word)}`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.map(([name, value]) => `    <key>${escaped(name)}</key>\n    ${text(value)}`).join("\n")}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>Umask</key>
  <integer>${OWNER_ONLY_UMASK}</integer>
  <key>StandardErrorPath</key>
  ${text(logPath)}
</dict>
</plist>
`;
}

function text(value: string): string {
  return `<string>${escaped(value)}</string>`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
