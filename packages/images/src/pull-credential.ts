import type { AuthConfig, Init } from '@node-agent/cri-client';

/** Identifies an object of the cluster, including its UID, because a name can be reused. */
export interface Coordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Owner of a credential. A credential without a source belongs to the node and is available to all of its pods. */
export type CredentialSource =
  /** `credentialHash` covers only the credential, so that another secret with the same credential is equivalent. */
  { readonly secret: Coordinates & { readonly credentialHash: string } } | { readonly serviceAccount: Coordinates };

/** Credential for a pull. Must not be logged. */
export interface PullCredential extends Init<AuthConfig> {
  readonly source?: CredentialSource;
}

/** Returns the part of a credential that is sent to the registry. */
export function authOf({ source: _source, ...auth }: PullCredential): Init<AuthConfig> {
  return auth;
}
