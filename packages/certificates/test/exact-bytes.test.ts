import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { MetricsRegistry } from '@node-agent/telemetry';
import { expect, test } from 'vitest';
import { certificateMetrics } from '../src/certificate-metrics.ts';
import { elementsOf } from '../src/der.ts';
import { selfSignedCertificate } from '../src/self-signed.ts';
import { KEY, START_MS } from './fixtures.ts';

/** Returns the fields of a self-signed certificate's signed part (TBSCertificate), in hex. */
function partsOf(host: string, key: KeyObject): string[] {
  const text = selfSignedCertificate({ host, nowMs: START_MS, serial: Buffer.of(7) }, key);
  expect(text).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
  const der = Buffer.from(text.replace(/-----[^-]+-----/g, ''), 'base64');
  return elementsOf(elementsOf(der)[0] ?? Buffer.alloc(0)).map((part) => part.toString('hex'));
}

test('a self-signed certificate has the host as DNS name, is valid from an hour ago for a year, and is for server authentication', () => {
  const [version, serial, algorithm, issuer, validity, subject, , extensions] = partsOf('n1', KEY);
  expect([version, serial, algorithm]).toEqual(['a003020102', '020107', '300a06082a8648ce3d040302']);
  // The encoded name is n1@1767225600. The name is a UTF8String, because a PrintableString must not contain `@`.
  expect(subject).toBe('30183116301406035504030c0d6e314031373637323235363030');
  expect(issuer).toBe(subject);
  // The encoded validity is from 2025-12-31 23:00 to 2026-12-31 23:00.
  expect(validity).toBe('301e170d3235313233313233303030305a170d3236313233313233303030305a');
  expect(extensions).toBe(
    'a3443042300e0603551d0f0101ff04040302078030130603551d25040c300a06082b06010505070301300c0603551d130101ff04023000300d0603551d110406300482026e31',
  );
});

test('a self-signed certificate for an IP address has that address as IP SAN', () => {
  expect(partsOf('FD00::1', KEY).at(-1)).toBe(
    'a3523050300e0603551d0f0101ff04040302078030130603551d25040c300a06082b06010505070301300c0603551d130101ff04023000301b0603551d11041430128710fd000000000000000000000000000001',
  );
});

test('a self-signed certificate with an RSA key has the usage key encipherment', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  expect(partsOf('n1', privateKey).at(-1)).toBe(
    'a3443042300e0603551d0f0101ff0404030205a030130603551d25040c300a06082b06010505070301300c0603551d130101ff04023000300d0603551d110406300482026e31',
  );
});

test.each([
  [
    'client',
    [
      '# HELP kubelet_certificate_manager_client_expiration_renew_errors Counter of certificate renewal errors.',
      '# TYPE kubelet_certificate_manager_client_expiration_renew_errors counter',
      'kubelet_certificate_manager_client_expiration_renew_errors 0',
      "# HELP kubelet_certificate_manager_client_ttl_seconds Seconds until the kubelet's client certificate expires. Negative if it has expired, +Inf if there is none.",
      '# TYPE kubelet_certificate_manager_client_ttl_seconds gauge',
      'kubelet_certificate_manager_client_ttl_seconds 0',
    ],
  ],
  [
    'server',
    [
      '# HELP kubelet_certificate_manager_server_rotation_seconds Histogram of the number of seconds the previous certificate lived before being rotated.',
      '# TYPE kubelet_certificate_manager_server_rotation_seconds histogram',
      ...[
        60,
        3600,
        14_400,
        86_400,
        604_800,
        '2.592e+06',
        '7.776e+06',
        '1.5552e+07',
        '3.1104e+07',
        '1.24416e+08',
        '+Inf',
      ].map((bound) => `kubelet_certificate_manager_server_rotation_seconds_bucket{le="${bound}"} 0`),
      'kubelet_certificate_manager_server_rotation_seconds_sum 0',
      'kubelet_certificate_manager_server_rotation_seconds_count 0',
      "# HELP kubelet_certificate_manager_server_ttl_seconds Seconds until the kubelet's serving certificate expires. Negative if it has expired, +Inf if there is none.",
      '# TYPE kubelet_certificate_manager_server_ttl_seconds gauge',
      'kubelet_certificate_manager_server_ttl_seconds 0',
      '# HELP kubelet_server_expiration_renew_errors Counter of certificate renewal errors.',
      '# TYPE kubelet_server_expiration_renew_errors counter',
      'kubelet_server_expiration_renew_errors 0',
    ],
  ],
] as const)('all metrics of the %s certificate are exported from the start', (purpose, lines) => {
  const registry = new MetricsRegistry();
  certificateMetrics(registry, purpose);
  expect(registry.text().split('\n')).toEqual([...lines, '']);
});
