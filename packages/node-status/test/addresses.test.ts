import { describe, expect, test } from 'vitest';
import { type AddressSettings, type NetworkFacts, setAddresses } from '../src/addresses.ts';
import { type DefaultRoute, defaultIp, hostInterfaces, parseDefaultRoutes } from '../src/default-ip.ts';
import type { Node } from '../src/node.ts';
import { parseNodeIps } from '../src/node-ips.ts';

const NETWORK: NetworkFacts = {
  hostAddresses: ['127.0.0.1', '10.0.0.1', '10.0.0.2', 'fd00::1', '::1'],
  namedAddresses: [],
  defaultAddress: '10.0.0.1',
};
const ANNOTATION = 'alpha.kubernetes.io/provided-node-ip';

function addresses(
  nodeIp: string,
  settings: Partial<AddressSettings> = {},
  network: Partial<NetworkFacts> = {},
  node: Node = { metadata: { name: 'n1' } },
): { readonly shown: readonly string[]; readonly annotation: string | undefined } {
  const nodeIps = parseNodeIps(nodeIp).ips;
  const all = { hostname: 'host-1', nodeIps, externalCloudProvider: false, ...settings };
  const after = setAddresses(node, { ...NETWORK, ...network }, all);
  return {
    shown: (after.status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`),
    annotation: after.metadata.annotations?.[ANNOTATION],
  };
}

describe('addresses of a node', () => {
  test.each([
    ['the default address without --node-ip', '', {}, {}, ['InternalIP 10.0.0.1']],
    ['--node-ip', '10.0.0.2', {}, {}, ['InternalIP 10.0.0.2']],
    ['both of --node-ip, in its order', 'fd00::1,10.0.0.2', {}, {}, ['InternalIP fd00::1', 'InternalIP 10.0.0.2']],
    ['a hostname that is an address', '', { hostname: '10.7.7.7' }, {}, ['InternalIP 10.7.7.7']],
    [
      "what the node's name resolves to, where it is the host's",
      '',
      {},
      { namedAddresses: ['9.9.9.9', '10.0.0.2'] },
      ['InternalIP 10.0.0.2'],
    ],
    [
      'the IPv4 address of a name that has both families',
      '',
      {},
      { namedAddresses: ['fd00::1', '10.0.0.2'] },
      ['InternalIP 10.0.0.2'],
    ],
    [
      'the IPv6 address of a name that has both families with --node-ip=::',
      '::',
      {},
      { namedAddresses: ['10.0.0.2', 'fd00::1'] },
      ['InternalIP fd00::1'],
    ],
    [
      'no invalid address that a name resolves to',
      '',
      {},
      { namedAddresses: ['fe80::1%eth0', '10.0.0.2'] },
      ['InternalIP 10.0.0.2'],
    ],
    [
      'the IPv4 address of a name without IPv6 addresses with --node-ip=::',
      '::',
      {},
      { namedAddresses: ['10.0.0.2'] },
      ['InternalIP 10.0.0.2'],
    ],
  ] as const)('setAddresses reports %s', (_name, nodeIp, settings, network, internal) => {
    const hostname = (settings as Partial<AddressSettings>).hostname ?? 'host-1';
    expect(addresses(nodeIp, settings, network).shown).toEqual([...internal, `Hostname ${hostname}`]);
  });

  test.each([
    ['10.9.9.9', 'failed to validate nodeIP: node IP: "10.9.9.9" not found in the host\'s network interfaces'],
    [
      '10.0.0.1,fd00::9',
      'failed to validate secondaryNodeIP: node IP: "fd00::9" not found in the host\'s network interfaces',
    ],
    ['127.0.0.1', "failed to validate nodeIP: nodeIP can't be loopback address"],
  ])('setAddresses rejects --node-ip=%s with the reason', (nodeIp, message) => {
    expect(() => addresses(nodeIp)).toThrow(expect.objectContaining({ code: 'InvalidNodeIp', message }));
  });

  test('setAddresses fails with an error for a host without a default route', () => {
    expect(() => addresses('', {}, { defaultAddress: undefined })).toThrow(
      "can't get ip address of node n1. error: unable to select an IP from default routes.",
    );
  });

  describe('node addresses with an external cloud provider', () => {
    const cloud = { externalCloudProvider: true };
    const set: Node = {
      metadata: { name: 'n1', annotations: { [ANNOTATION]: '10.0.0.9', other: 'x' } },
      status: { addresses: [{ type: 'ExternalIP', address: '8.8.8.8' }] },
    };

    test('only the hostname is reported until the cloud provider sets addresses', () => {
      expect(addresses('', cloud)).toEqual({ shown: ['Hostname host-1'], annotation: undefined });
    });

    test('--node-ip is reported until the cloud provider sets addresses, and is passed to it in an annotation', () => {
      expect(addresses('10.0.0.2,fd00::1', cloud)).toEqual({
        shown: ['InternalIP 10.0.0.2', 'InternalIP fd00::1', 'Hostname host-1'],
        annotation: '10.0.0.2,fd00::1',
      });
    });

    test('--node-ip=0.0.0.0 uses the default address and sets no annotation', () => {
      const shown = ['InternalIP 10.0.0.1', 'Hostname host-1'];
      expect(addresses('0.0.0.0', cloud)).toEqual({ shown, annotation: undefined });
    });

    test('addresses that the cloud provider set are kept, and the annotation is updated to --node-ip', () => {
      expect(addresses('10.0.0.2', cloud, {}, set)).toEqual({ shown: ['ExternalIP 8.8.8.8'], annotation: '10.0.0.2' });
    });

    test('an outdated node IP annotation is removed, other annotations are kept', () => {
      const after = setAddresses(set, NETWORK, { hostname: 'h', nodeIps: [], externalCloudProvider: false });
      expect(after.metadata.annotations).toStrictEqual({ other: 'x' });
      const without = setAddresses({ metadata: { name: 'n1' } }, NETWORK, {
        hostname: 'h',
        nodeIps: [],
        externalCloudProvider: false,
      });
      expect(without.metadata).toStrictEqual({ name: 'n1' });
    });
  });
});

describe('defaultIp', () => {
  const interfaces = hostInterfaces({
    lo: [
      { address: '127.0.0.1', internal: true },
      { address: '192.0.2.1', internal: true },
    ],
    eth0: [
      { address: '10.0.0.1', internal: false },
      { address: 'fe80::1%eth0', internal: false },
      { address: 'fd00::1', internal: false },
    ],
    eth1: [{ address: '169.254.3.3', internal: false }],
  });
  const route = (name: string, family: 4 | 6): DefaultRoute => ({ interface: name, family });

  test.each([
    ['the address of the IPv4 default route', [route('eth0', 6), route('eth0', 4)], 4, '10.0.0.1'],
    ['the address of the IPv6 default route if IPv6 is preferred', [route('eth0', 4), route('eth0', 6)], 6, 'fd00::1'],
    ['an IPv6 address if only IPv6 has a default route', [route('eth0', 6)], 4, 'fd00::1'],
    [
      'a loopback address if the interface of the route has only link-local addresses',
      [route('eth1', 4)],
      4,
      '192.0.2.1',
    ],
    ['undefined without a default route', [], 4, undefined],
    ['an IPv4 address if IPv6 is preferred but only IPv4 has a default route', [route('eth0', 4)], 6, '10.0.0.1'],
    ['the address of any interface if there is no route table', undefined, 4, '10.0.0.1'],
  ] as const)('defaultIp returns %s', (_name, routes, preferred, expected) => {
    expect(defaultIp(interfaces, routes, preferred)?.text).toBe(expected);
  });

  test('defaultIp does not use an interface without a default route, or an invalid address', () => {
    const only = hostInterfaces({
      eth0: [{ address: '10.0.0.1', internal: false }],
      eth1: [
        { address: 'bogus', internal: false },
        { address: 'fe80::1%eth1', internal: false },
      ],
    });
    expect(only[1]?.addresses).toEqual(['bogus', 'fe80::1']);
    expect(defaultIp(only, [route('eth1', 4)], 4)).toBeUndefined();
  });

  test('parseDefaultRoutes returns IPv4 default routes, and IPv6 default routes only if they have a gateway', () => {
    const ipv4 = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth1\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
      '',
    ].join('\n');
    const zero = '0'.repeat(32);
    const gateway = `fe80${'0'.repeat(27)}1`;
    const ipv6 = [
      `${zero} 00 ${zero} 00 ${gateway} 00000400 00000001 00000000 00000003     eth0`,
      `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo`,
    ].join('\n');
    expect(parseDefaultRoutes(ipv4, ipv6)).toEqual([route('eth0', 4), route('eth0', 6)]);
    expect(parseDefaultRoutes('', '')).toEqual([]);
  });
});
