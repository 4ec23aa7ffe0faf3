import type { KeyObject } from 'node:crypto';

/** The purpose of a certificate. */
export type CertificatePurpose = 'client' | 'server';

/**
 * Returns the key usages of a certificate request. `key encipherment` is requested only for RSA keys, because a signer
 * rejects it for other keys (`client-go/util/certificate/certificate_manager.go`).
 */
export function usagesOf(purpose: CertificatePurpose, key: KeyObject): readonly string[] {
  const encipherment = key.asymmetricKeyType === 'rsa' ? ['key encipherment'] : [];
  return ['digital signature', ...encipherment, purpose === 'client' ? 'client auth' : 'server auth'];
}

/** Returns the name of the signer for certificates with this purpose (KEP-1513). */
export function signerOf(purpose: CertificatePurpose): string {
  return purpose === 'client' ? 'kubernetes.io/kube-apiserver-client-kubelet' : 'kubernetes.io/kubelet-serving';
}
