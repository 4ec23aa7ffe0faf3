import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitDnsLimits, resolvConfProblem } from '../src/dns-limits.ts';
import { type NodeDns, podDns } from '../src/pod-dns.ts';
import { makePod } from './fixtures.ts';

const host = { servers: ['192.168.0.1'], searches: ['corp.example'], options: ['timeout:2'] };
const cluster: NodeDns = {
  host,
  clusterDns: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
  nodeIps: ['192.168.0.7'],
};
const clusterConfig = {
  servers: ['10.0.0.10'],
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example'],
  options: ['ndots:5'],
};

describe('podDns', () => {
  it.each([
    ['ClusterFirst', { dnsPolicy: 'ClusterFirst' }, clusterConfig],
    ['no policy', {}, clusterConfig],
    ['an unknown policy', { dnsPolicy: 'Maybe' }, clusterConfig],
    ['ClusterFirst on the host network', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, host],
    ['ClusterFirstWithHostNet', { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, clusterConfig],
    ['Default', { dnsPolicy: 'Default' }, host],
    ['None', { dnsPolicy: 'None' }, { servers: [], searches: [], options: [] }],
  ])('the resolver settings of a pod with dnsPolicy %s: $2', (_, spec, config) => {
    expect(podDns(makePod(spec), cluster)).toEqual({ config, warnings: [] });
  });

  it("podDns falls back to the node's resolver, with a warning, if the cluster has no name server", () => {
    const onNode =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    expect(podDns(makePod({ dnsPolicy: 'ClusterFirst' }), { ...cluster, clusterDns: [] })).toEqual({
      config: host,
      warnings: [{ reason: 'MissingClusterDNS', message: `pod: "web_shop(uid-1)". ${onNode}`, onNode }],
    });
  });

  it('podDns adds no cluster search domains if there is no cluster domain', () => {
    const { config } = podDns(makePod(), { ...cluster, clusterDomain: '' });
    expect(config.searches).toEqual(['corp.example']);
  });

  it("podDns keeps the node's search domains unchanged if none is added", () => {
    const twice = { ...host, searches: ['corp.example', 'corp.example'] };
    const { config } = podDns(makePod(), { ...cluster, host: twice, clusterDomain: '' });
    expect(config.searches).toEqual(twice.searches);
  });

  it.each([
    [[], ['127.0.0.1']],
    [['192.168.0.7'], ['127.0.0.1']],
    [
      ['fd00::7', '192.168.0.7'],
      ['::1', '127.0.0.1'],
    ],
  ])(
    'podDns uses the node itself as name server if the node has no resolver file: addresses %j',
    (nodeIps, servers) => {
      const node = { ...cluster, host: undefined, nodeIps };
      expect(podDns(makePod({ dnsPolicy: 'Default' }), node).config).toEqual({ servers, searches: ['.'], options: [] });
    },
  );

  it("podDns adds the pod's own settings without duplicates, options by name", () => {
    const dnsConfig = {
      nameservers: ['10.0.0.10', '1.1.1.1'],
      searches: ['cluster.local', 'extra.example'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }, { name: 'rotate', value: '' }],
    };
    expect(podDns(makePod({ dnsConfig }), cluster).config).toEqual({
      servers: ['10.0.0.10', '1.1.1.1'],
      searches: [...clusterConfig.searches, 'extra.example'],
      options: ['ndots:2', 'edns0', 'rotate'],
    });
  });
});

describe('fitDnsLimits', () => {
  const config = (servers: readonly string[], searches: readonly string[]): Parameters<typeof fitDnsLimits>[0] => ({
    servers,
    searches,
    options: [],
  });

  it('fitDnsLimits keeps three name servers and names them in the warning', () => {
    expect(fitDnsLimits(config(['1', '2', '3', '4'], []))).toEqual({
      config: config(['1', '2', '3'], []),
      warnings: [
        'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1 2 3',
      ],
    });
  });

  it.each([
    ['32 domains', Array.from({ length: 33 }, (_, i) => `d${i}`), 32],
    ['253 characters per domain', ['a', 'x'.repeat(254), 'b'], 2],
    ['2048 characters in total', Array.from({ length: 10 }, () => 'y'.repeat(250)), 8],
  ])('fitDnsLimits keeps at most %s', (_, searches, kept) => {
    const { config: fitted, warnings } = fitDnsLimits(config([], searches));
    expect(fitted.searches).toHaveLength(kept);
    expect(warnings).toEqual([expect.stringMatching(/^Search Line limits were exceeded, .* search line is: /)]);
  });

  it('fitDnsLimits never exceeds the limits of resolvers, and warns exactly if something was removed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 300 }), { maxLength: 50 }),
        fc.array(fc.ipV4()),
        (searches, servers) => {
          const { config: fitted, warnings } = fitDnsLimits(config(servers, searches));
          expect(fitted.servers.length).toBeLessThanOrEqual(3);
          expect(fitted.searches.length).toBeLessThanOrEqual(32);
          expect(fitted.searches.join(' ').length).toBeLessThanOrEqual(2048);
          const cut = [fitted.servers.length < servers.length, fitted.searches.length < searches.length];
          expect(warnings).toHaveLength(cut.filter(Boolean).length);
        },
      ),
    );
  });
});

describe('resolvConfProblem', () => {
  it.each([
    [Array.from({ length: 29 }, () => 'a'), 'c', undefined],
    [
      Array.from({ length: 30 }, () => 'a'),
      'c',
      "Resolv.conf file '/r' contains search line consisting of more than 29 domains!",
    ],
    [Array.from({ length: 30 }, () => 'a'), '', undefined],
    [
      ['x'.repeat(254)],
      '',
      'Resolv.conf file "/r" contains a search path which length is more than allowed 253 chars!',
    ],
    [
      Array.from({ length: 9 }, () => 'x'.repeat(250)),
      '',
      "Resolv.conf file '/r' contains search line which length is more than allowed 2048 chars!",
    ],
  ])('resolvConfProblem returns $2 in case %#', (searches, clusterDomain, problem) => {
    expect(resolvConfProblem('/r', searches, clusterDomain)).toBe(problem);
  });
});
