/** What a login is. It stands in no message, no log and no details of an error. */

export type Credentials =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  /** From `docker login` with a registry that hands out refresh tokens. */
  | { readonly kind: "identity-token"; readonly token: string };

/** Asked with the registry as references name it: `docker.io`, `localhost:5000`. */
export type CredentialSource = (registry: string) => Promise<Credentials | null>;

export const noCredentials: CredentialSource = () => Promise.resolve(null);
