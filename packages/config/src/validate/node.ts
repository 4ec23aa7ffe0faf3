import { formatMs } from '../duration.ts';
import { keyProblem, valueProblem } from '../labels.ts';
import { childPath } from '../path.ts';
import { type Rule, type Violation, when } from './rule.ts';

const shutdown: Rule = (configuration, { gates }) => {
  const { shutdownGracePeriodMs: totalMs, shutdownGracePeriodCriticalPodsMs: criticalMs } = configuration;
  const byPriority = configuration.shutdownGracePeriodByPodPriority.length > 0;
  const total = 'shutdownGracePeriod';
  const critical = 'shutdownGracePeriodCriticalPods';
  const priority = 'shutdownGracePeriodByPodPriority';
  const short = (valueMs: number): boolean => valueMs < 0 || (valueMs > 0 && valueMs < 1000);
  const violations: Violation[] = [];
  if (gates.enabled('GracefulNodeShutdown')) {
    violations.push(
      ...when(criticalMs > totalMs, critical, `must not be longer than ${total} (${formatMs(totalMs)})`),
      ...when(short(totalMs), total, 'must be either zero or 1s and more'),
      ...when(short(criticalMs), critical, 'must be either zero or 1s and more'),
    );
  } else {
    violations.push(...when(totalMs > 0, total, 'requires the feature gate GracefulNodeShutdown'));
    violations.push(...when(criticalMs > 0, critical, 'requires the feature gate GracefulNodeShutdown'));
  }
  if (gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    const both = byPriority && (totalMs > 0 || criticalMs > 0);
    violations.push(...when(both, priority, `cannot be specified at the same time as ${total}`));
  } else {
    violations.push(...when(byPriority, priority, 'requires the feature gate GracefulNodeShutdownBasedOnPodPriority'));
  }
  return violations;
};

const taints: Rule = ({ registerWithTaints }) =>
  registerWithTaints.flatMap(({ key, value, timeAdded }, index) => {
    const path = childPath('registerWithTaints', index);
    const badKey = keyProblem(key);
    const badValue = valueProblem(value);
    return [
      ...when(badKey !== undefined, `${path}.key`, `${badKey}`),
      ...when(badValue !== undefined, `${path}.value`, `${badValue}`),
      ...when(timeAdded !== undefined, `${path}.timeAdded`, 'must not be set'),
    ];
  });

const CIPHERS: ReadonlySet<string> = new Set([
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA',
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_RC4_128_SHA',
  'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_RSA_WITH_AES_128_CBC_SHA',
  'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_RSA_WITH_AES_256_CBC_SHA',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_RC4_128_SHA',
]);

/** TLS numbers of X25519, the NIST curves, and their hybrids with ML-KEM (crypto/tls of Go 1.26). */
const KEY_EXCHANGES: readonly number[] = [23, 24, 25, 29, 4587, 4588, 4589];

const tls: Rule = ({ tlsCipherSuites, tlsCurvePreferences, serverTLSBootstrap }, { gates }) => [
  ...tlsCipherSuites.flatMap((suite, index) =>
    when(!CIPHERS.has(suite), `tlsCipherSuites[${index}]`, `${JSON.stringify(suite)} is not a known cipher suite`),
  ),
  ...tlsCurvePreferences.flatMap((curve, index) => [
    ...when(
      !KEY_EXCHANGES.includes(curve),
      `tlsCurvePreferences[${index}]`,
      `${curve} is not a known key exchange; the known ones are ${KEY_EXCHANGES.join(', ')}`,
    ),
    ...when(tlsCurvePreferences.indexOf(curve) < index, `tlsCurvePreferences[${index}]`, 'is there twice'),
  ]),
  ...when(
    serverTLSBootstrap && !gates.enabled('RotateKubeletServerCertificate'),
    'serverTLSBootstrap',
    'requires the feature gate RotateKubeletServerCertificate',
  ),
];

/** With serverTLSBootstrap, one of the two files may be missing, because the files are only a fallback. */
const tlsFiles: Rule = ({ tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap }) => {
  if (serverTLSBootstrap || (tlsCertFile === '') === (tlsPrivateKeyFile === '')) return [];
  const [set, unset] = tlsCertFile === '' ? ['tlsPrivateKeyFile', 'tlsCertFile'] : ['tlsCertFile', 'tlsPrivateKeyFile'];
  return [{ path: set, message: `needs ${unset}` }];
};

const systemLogs: Rule = ({ enableSystemLogQuery, enableSystemLogHandler }) =>
  when(enableSystemLogQuery && !enableSystemLogHandler, 'enableSystemLogQuery', 'needs enableSystemLogHandler');

/** Rules for the node, its servers and its shutdown. */
export const nodeRules: readonly Rule[] = [shutdown, taints, tls, tlsFiles, systemLogs];
