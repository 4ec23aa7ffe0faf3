import { createHash } from 'node:crypto';

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\r?\n([A-Za-z0-9+/=\s]+?)-----END \1-----/g;

/**
 * Merges the certificates of several bundles into one PEM text without duplicates. The order depends only on `salt`, so
 * that the text stays the same while the certificates do, and clients do not rely on the first certificate. Source:
 * `pkg/kubelet/clustertrustbundle`, normalizeTrustAnchors.
 */
export function normalizeTrustAnchors(bundles: readonly string[], salt: string): string {
  const ranks = new Map<string, string>();
  for (const bundle of bundles) {
    for (const [, , body = ''] of bundle.matchAll(PEM_BLOCK)) {
      const base64 = Buffer.from(body, 'base64').toString('base64');
      // Blocks without content are ignored, as in Go.
      if (base64 !== '') ranks.set(base64, createHash('sha256').update(salt).update(base64).digest('hex'));
    }
  }
  const ordered = [...ranks].sort(([, a], [, b]) => (a < b ? -1 : 1));
  return ordered.map(([base64]) => pem(base64)).join('');
}

function pem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
