import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { podHostname } from '../src/hostname.ts';
import { makePod } from './fixtures.ts';

const long = 'a'.repeat(62);

describe('podHostname', () => {
  it.each([
    ['neither hostname nor subdomain', {}, 'web', ''],
    ['hostname', { hostname: 'h' }, 'h', ''],
    ['subdomain', { subdomain: 'sub' }, 'web', 'sub.shop.svc.cluster.local'],
    ['hostname and subdomain', { hostname: 'h', subdomain: 'sub' }, 'h', 'sub.shop.svc.cluster.local'],
    [
      'hostnameOverride, hostname and subdomain',
      { hostname: 'h', subdomain: 'sub', hostnameOverride: 'a.b' },
      'a.b',
      '',
    ],
  ])('hostname and domain of a pod named web with %s: $2, $3', (_, spec, hostname, domain) => {
    expect(podHostname(makePod(spec), { clusterDomain: 'cluster.local' })).toEqual({
      hostname,
      domain,
      truncated: false,
    });
  });

  it('hostnameOverride is ignored if the feature gate is disabled', () => {
    const pod = makePod({ hostname: 'h', hostnameOverride: 'a.b' });
    expect(podHostname(pod, { clusterDomain: '', hostnameOverride: false }).hostname).toBe('h');
  });

  it.each([
    [`${long}bc`, `${long}b`],
    [`${long}-c`, long],
    [`${long}.c`, long],
    [`${'a'.repeat(60)}-.-.c`, 'a'.repeat(60)],
  ])('the hostname %s is truncated to %s', (name, hostname) => {
    expect(podHostname(makePod({}, name), { clusterDomain: '' })).toEqual({ hostname, domain: '', truncated: true });
    expect(podHostname(makePod({ hostnameOverride: `${long}.bc` }), { clusterDomain: '' }).hostname).toBe(long);
  });

  it.each([
    [{ hostname: 'Up' }, 'pod Hostname "Up" is not a valid DNS label: a lowercase RFC 1123 label must consist of'],
    [{ hostname: 'a'.repeat(64) }, 'is not a valid DNS label: must be no more than 63 characters'],
    [{ subdomain: 'a.b' }, 'pod Subdomain "a.b" is not a valid DNS label'],
    [{ hostnameOverride: '' }, 'pod HostnameOverride "" is not a valid DNS subdomain'],
    [{ hostnameOverride: 'a..b' }, 'pod HostnameOverride "a..b" is not a valid DNS subdomain'],
  ])('refuses a pod with the hostname fields %j', (spec, message) => {
    expect(() => podHostname(makePod(spec), { clusterDomain: '' })).toThrow(message);
  });

  it('rejects a pod whose hostname is empty after truncation', () => {
    expect(() => podHostname(makePod({}, '-'.repeat(70)), { clusterDomain: '' })).toThrow('hostname for pod "---');
  });

  it('every pod name gives a hostname that the kernel accepts', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9][-.a-z0-9]{0,250}[a-z0-9]$/), (name) => {
        expect(podHostname(makePod({}, name), { clusterDomain: '' }).hostname).toMatch(
          /^(?=.{1,63}$)[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/,
        );
      }),
    );
  });
});
