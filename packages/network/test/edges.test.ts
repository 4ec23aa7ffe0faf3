import { describe, expect, it } from 'vitest';
import { fitDnsLimits, resolvConfProblem } from '../src/dns-limits.ts';
import { podHostname } from '../src/hostname.ts';
import { managedHostsFile } from '../src/hosts-file.ts';
import { type NodeDns, podDns } from '../src/pod-dns.ts';
import { optionName } from '../src/resolv-conf.ts';
import { makePod } from './fixtures.ts';

const domain = (length: number): string => 'a'.repeat(length);
/** Returns search domains for a line of 2048 characters, or of `more` characters beyond that. */
const line = (more = 0): string[] => [...Array.from({ length: 8 }, () => domain(240)), domain(120 + more)];

describe('limits of resolvers', () => {
  const fit = (servers: readonly string[], searches: readonly string[]) =>
    fitDnsLimits({ servers, searches, options: [] });

  it('resolver settings exactly at the limits are accepted, and longer ones rejected', () => {
    expect(line().join(' ')).toHaveLength(2048);
    expect(fit([], line())).toEqual({ config: { servers: [], searches: line(), options: [] }, warnings: [] });
    expect(fit([], line(1)).config.searches).toEqual(line().slice(0, -1));
    expect(fit([], [domain(253)]).config.searches).toEqual([domain(253)]);
    expect(fit([], [domain(254), 'b']).config.searches).toEqual(['b']);
  });

  it('the warning about omitted resolver settings names the settings that are applied', () => {
    const { warnings } = fit(['1', '2', '3', '4'], ['x', 'y', domain(254)]);
    expect(warnings).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3',
      'Search Line limits were exceeded, some search paths have been omitted, the applied search line is: x y',
    ]);
  });

  it("the cluster's search domains count against the limit of the node's resolver file", () => {
    const problem = (searches: readonly string[], cluster = ''): string | undefined =>
      resolvConfProblem('/r', searches, cluster);
    const many = (length: number): string[] => Array.from({ length }, (_, at) => `d${at}`);
    expect([problem(many(32)), problem(many(29), 'c'), problem(line()), problem([domain(253)])]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(problem(many(33))).toContain('more than 32 domains');
    expect(problem(many(30), 'c')).toContain('more than 29 domains');
    expect(problem(['x', domain(254)])).toContain('more than allowed 253 chars');
    expect(problem(line(1))).toContain('more than allowed 2048 chars');
  });
});

describe("a pod's resolver settings", () => {
  const node: NodeDns = { host: undefined, clusterDns: ['10.0.0.10'], clusterDomain: 'c', nodeIps: ['fd00::7'] };

  it('a pod gets resolver settings even if the node has no resolver file', () => {
    expect(podDns(makePod(), node).config.searches).toEqual(['shop.svc.c', 'svc.c', 'c']);
    expect(podDns(makePod({ dnsPolicy: 'Default' }), node).config.servers).toEqual(['::1']);
  });

  it('dnsConfig options without a name are ignored', () => {
    const of = (dnsConfig: object) => podDns(makePod({ dnsPolicy: 'None', dnsConfig }), node).config;
    expect(of({ searches: ['s'] })).toEqual({ servers: [], searches: ['s'], options: [] });
    expect(of({ nameservers: ['1.1.1.1'] })).toEqual({ servers: ['1.1.1.1'], searches: [], options: [] });
    expect(of({ options: [{ value: '5' }, { name: '' }, { name: 'edns0' }, { name: 'ndots', value: '2' }] })).toEqual({
      servers: [],
      searches: [],
      options: ['edns0', 'ndots:2'],
    });
  });

  it('resolver options are identified by the text before the first colon', () => {
    expect(['ndots:5', 'edns0', 'a:b:c', ':x'].map(optionName)).toEqual(['ndots', 'edns0', 'a', '']);
  });
});

describe('host names of a pod', () => {
  it('accepts a pod hostname of 63 characters', () => {
    const of = (length: number) => podHostname(makePod({}, 'a'.repeat(length)), { clusterDomain: '' });
    expect(of(63)).toEqual({ hostname: 'a'.repeat(63), domain: '', truncated: false });
    expect(of(64).truncated).toBe(true);
  });

  it('the error for an invalid pod hostname lists all problems', () => {
    const refused = (): unknown => podHostname(makePod({ hostname: 'A'.repeat(64) }), { clusterDomain: '' });
    expect(refused).toThrow(/must be no more than 63 characters;|;must be no more than 63 characters/);
  });

  it('the hosts file of a pod has an FQDN only if there is a domain', () => {
    const of = (name: string): string[] => managedHostsFile(makePod(), ['10.0.0.1'], 'h', name).split('\n');
    expect(of('')).toContain('10.0.0.1\th');
    expect(of('d.e')).toContain('10.0.0.1\th.d.e\th');
  });
});
