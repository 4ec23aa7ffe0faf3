import { isIP } from 'node:net';
import { posix } from 'node:path';
import { sysctlNamespace } from '@node-agent/pod-spec';
import { cleanPath } from '../clean-path.ts';
import { childPath } from '../path.ts';
import { type Rule, when } from './rule.ts';

const containerRestartPeriod: Rule = ({ crashLoopBackOff }, { gates }) => {
  const path = 'crashLoopBackOff.maxContainerRestartPeriod';
  const periodMs = crashLoopBackOff.maxContainerRestartPeriodMs;
  if (!gates.enabled('KubeletCrashLoopBackOffMax')) {
    return when(periodMs !== undefined, path, 'must not be set: the feature gate KubeletCrashLoopBackOffMax is off');
  }
  // The period is truncated to whole milliseconds, because upstream compares only these.
  const whole = periodMs === undefined ? undefined : Math.trunc(periodMs);
  return when(whole === undefined || whole < 1000 || whole > 300_000, path, 'must be between 1s and 300s');
};

const quotaPeriod: Rule = ({ cpuCFSQuotaPeriodMs }, { gates }) =>
  gates.enabled('CustomCPUCFSQuotaPeriod')
    ? when(
        cpuCFSQuotaPeriodMs < 1 || cpuCFSQuotaPeriodMs > 1000,
        'cpuCFSQuotaPeriod',
        'must be between 1ms and 1s, inclusive',
      )
    : when(
        cpuCFSQuotaPeriodMs !== 100,
        'cpuCFSQuotaPeriod',
        'must be 100ms unless the feature gate CustomCPUCFSQuotaPeriod is enabled',
      );

const podLogsDir: Rule = ({ podLogsDir: directory }) => [
  ...when(!posix.isAbsolute(directory), 'podLogsDir', 'must be an absolute path'),
  ...when(cleanPath(directory) !== directory, 'podLogsDir', `must be normalized: ${cleanPath(directory)}`),
  ...when(
    [...directory].some((char) => char > '\x7f'),
    'podLogsDir',
    'must contain ASCII characters only',
  ),
];

const userNamespaces: Rule = ({ userNamespaces: settings }) => {
  const ids = settings?.idsPerPod;
  if (ids === undefined) return [];
  const path = 'userNamespaces.idsPerPod';
  if (ids < 65_536) return [{ path, message: 'must not be less than 65536' }];
  return [
    ...when(ids % 65_536 !== 0, path, 'must be a multiple of 65536'),
    ...when(ids > 4_294_967_295, path, 'must not be more than 4294967295'),
  ];
};

const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL_PATTERN = new RegExp(`^(${SYSCTL_SEGMENT}[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`);

const sysctls: Rule = ({ allowedUnsafeSysctls }) =>
  allowedUnsafeSysctls.flatMap((pattern, index) => {
    const at = `allowedUnsafeSysctls[${index}]`;
    if (pattern.length > 253 || !SYSCTL_PATTERN.test(pattern)) {
      return [
        {
          path: at,
          message: `${JSON.stringify(pattern)} must be the name of a sysctl, or the start of one followed by *`,
        },
      ];
    }
    return when(
      sysctlNamespace(pattern) === undefined,
      at,
      `${JSON.stringify(pattern)} must be a namespaced sysctl: kernel.sem, kernel.shm*, kernel.msg*, fs.mqueue.* or net.*`,
    );
  });

const addresses: Rule = (configuration) => [
  ...when(isIP(configuration.address) === 0, 'address', 'must be an IP address'),
  ...when(!isHost(configuration.healthzBindAddress), 'healthzBindAddress', 'must be an IP address or a host name'),
];

/** Returns whether the text is an IP address, or a host name that is not a malformed IPv4 address (RFC 1123). */
function isHost(text: string): boolean {
  return (
    isIP(text) !== 0 ||
    (/^[a-z\d]([-a-z\d]*[a-z\d])?(\.[a-z\d]([-a-z\d]*[a-z\d])?)*$/i.test(text) && !/^[\d.]+$/.test(text))
  );
}

/** Syntax of a header name: a token of RFC 9110. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: no header may hold them
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

const staticPodUrl: Rule = ({ staticPodURL }) => {
  if (staticPodURL === '') return [];
  const isHttp = URL.canParse(staticPodURL) && /^https?:$/.test(new URL(staticPodURL).protocol);
  return when(!isHttp, 'staticPodURL', 'must be an http or https URL');
};

/** Rejects headers that no request could carry. The values do not appear in messages (W4). */
const staticPodHeaders: Rule = ({ staticPodURLHeader }) =>
  Object.entries(staticPodURLHeader).flatMap(([name, values]) => {
    const path = childPath('staticPodURLHeader', name);
    return [
      ...when(!HEADER_NAME.test(name), path, 'must be the name of an HTTP header'),
      ...values.flatMap((value, index) =>
        when(CONTROL.test(value), `${path}[${index}]`, 'must not contain control characters'),
      ),
    ];
  });

/** Rules for pods, their logs and their network. */
export const podRules: readonly Rule[] = [
  containerRestartPeriod,
  quotaPeriod,
  podLogsDir,
  userNamespaces,
  sysctls,
  addresses,
  staticPodUrl,
  staticPodHeaders,
];
