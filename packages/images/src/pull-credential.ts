import type { AuthConfig, Init } from '@node-agent/cri-client';

/** Where an object of the cluster is, and which of those that had its name it is. */
export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whose a credential is; one without a source is the node's, for all of its pods. */
export type CredentialSource =
  /** `credentialHash`: of the credential alone, so that another secret with the same one counts as much. */
  { readonly secret: Coordinates & { readonly credentialHash: string } } | { readonly serviceAccount: Coordinates };

/** What a pull is authenticated with. It is a secret: not to be logged. */
export interface PullCredential extends Init<AuthConfig> {
  readonly source?: CredentialSource;
}

/** What of a credential a registry is shown. */
export function authOf({ source: _source, ...auth }: PullCredential): Init<AuthConfig> {
  return auth;
}
