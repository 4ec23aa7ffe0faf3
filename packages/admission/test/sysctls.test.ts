import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { sysctlHandler } from '../src/sysctls.ts';
import { makePod } from './pods.ts';

const withSysctls = (names: readonly string[], spec: Partial<Pod['spec']> = {}): Pod =>
  makePod('p', {}, { ...spec, securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) } });
const admit = (pod: Pod, allowedUnsafe: readonly string[] = [], kernelRelease = '6.1.0-18-amd64'): string => {
  const result = sysctlHandler({ kernelRelease, allowedUnsafe }).admit(pod);
  return result.admit ? 'admitted' : `${result.reason}: ${result.message}`;
};

describe('sysctlHandler', () => {
  test.each<[string, Pod, readonly string[], string]>([
    ['no sysctls', makePod('p'), [], 'admitted'],
    ['safe sysctls', withSysctls(['kernel.shm_rmid_forced', 'net.ipv4.tcp_wmem']), [], 'admitted'],
    ['a safe sysctl, written with slashes', withSysctls(['net/ipv4/tcp_syncookies']), [], 'admitted'],
    [
      'an unsafe sysctl',
      withSysctls(['net.ipv4.tcp_syncookies', 'net.ipv4.ip_forward']),
      [],
      'SysctlForbidden: forbidden sysctl: "net.ipv4.ip_forward" not allowlisted',
    ],
    ['an unsafe sysctl that is allowed', withSysctls(['net.ipv4.ip_forward']), ['net.ipv4.ip_forward'], 'admitted'],
    [
      'an unsafe sysctl with an allowed name as prefix',
      withSysctls(['net.ipv4.ip_forward_use_pmtu']),
      ['net.ipv4.ip_forward'],
      'SysctlForbidden: forbidden sysctl: "net.ipv4.ip_forward_use_pmtu" not allowlisted',
    ],
    [
      'unsafe sysctls that a pattern allows',
      withSysctls(['kernel.msgmax', 'net/core/somaxconn']),
      ['kernel.msg*', 'net/core/*'],
      'admitted',
    ],
    [
      'an unsafe sysctl that no pattern matches',
      withSysctls(['net.ipv4.conf.all.rp_filter']),
      ['net.ipv6.*'],
      'SysctlForbidden: forbidden sysctl: "net.ipv4.conf.all.rp_filter" not allowlisted',
    ],
    [
      "a sysctl of a network namespace that is the host's",
      withSysctls(['net.ipv4.tcp_syncookies'], { hostNetwork: true }),
      [],
      'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    ],
    [
      "a sysctl of an IPC namespace that is the host's",
      withSysctls(['kernel.msgmax'], { hostIPC: true }),
      ['kernel.msg*'],
      'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowed with host IPC enabled',
    ],
    ['a network sysctl with host IPC', withSysctls(['net.ipv4.tcp_syncookies'], { hostIPC: true }), [], 'admitted'],
  ])('admission of a pod with %s: $3', (_, pod, allowedUnsafe, expected) => {
    expect(admit(pod, allowedUnsafe)).toBe(expected);
  });

  test.each([
    ['kernel.shm_rmid_forced', '0.0', undefined],
    ['net.ipv4.ip_local_port_range', '0.0', undefined],
    ['net.ipv4.tcp_syncookies', '0.0', undefined],
    ['net.ipv4.ping_group_range', '0.0', undefined],
    ['net.ipv4.ip_unprivileged_port_start', '0.0', undefined],
    ['net.ipv4.ip_local_reserved_ports', '3.16', '3.15'],
    ['net.ipv4.tcp_keepalive_time', '4.5', '4.4'],
    ['net.ipv4.tcp_fin_timeout', '4.6', '4.5'],
    ['net.ipv4.tcp_keepalive_intvl', '4.5', '4.4'],
    ['net.ipv4.tcp_keepalive_probes', '4.5', '4.4'],
    ['net.ipv4.tcp_rmem', '4.15', '4.14'],
    ['net.ipv4.tcp_wmem', '4.15', '4.14'],
  ])('sysctl %s is safe from kernel %s on and unsafe with kernel %s', (name, since, before) => {
    const pod = withSysctls([name]);
    expect(admit(pod, [], since)).toBe('admitted');
    if (before !== undefined) expect(admit(pod, [], before)).toContain(`"${name}" not allowlisted`);
  });

  test.each([
    ['4.15.0-generic', true],
    ['4.14.336', false],
    ['5.0', true],
    ['10.1.2', true],
    ['3.16.0', false],
    ['', false],
    ['unknown', false],
  ])('sysctl net.ipv4.tcp_rmem with kernel %j is safe: %s', (release, safe) => {
    const refused = 'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted';
    expect(admit(withSysctls(['net.ipv4.tcp_rmem']), [], release)).toBe(safe ? 'admitted' : refused);
    expect(admit(withSysctls(['kernel.shm_rmid_forced']), [], release)).toBe('admitted');
  });
});
