import type { KeyObject } from 'node:crypto';

/** What a certificate is for. */
export type CertificatePurpose = 'client' | 'server';

/**
 * The usages that a request asks for. Only RSA keys can encipher other keys; a signer refuses that usage for others
 * (`client-go/util/certificate/certificate_manager.go`).
 */
export function usagesOf(purpose: CertificatePurpose, key: KeyObject): readonly string[] {
  const encipherment = key.asymmetricKeyType === 'rsa' ? ['key encipherment'] : [];
  return ['digital signature', ...encipherment, purpose === 'client' ? 'client auth' : 'server auth'];
}

/** Who signs it (KEP-1513). */
export function signerOf(purpose: CertificatePurpose): string {
  return purpose === 'client' ? 'kubernetes.io/kube-apiserver-client-kubelet' : 'kubernetes.io/kubelet-serving';
}
