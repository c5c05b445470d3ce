/** Contents that make a candidate a secret: what is hidden by content must have one. */

/** A private key's armour around a text. */
export function privateKeyHolding(text: string): string {
  const body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW";
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body}\n${text}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

/** Of a certificate authority: public, whatever its name is. */
export const certificate =
  "-----BEGIN CERTIFICATE-----\nMIIBtjCCAVugAwIBAgITBmyf1XSXNmY/Owua2eiedgPySjAKBggqhkjOPQQDAjA5\n-----END CERTIFICATE-----\n";
