import { expect, test } from 'vitest';
import { readCall } from '../src/call.ts';
import { clusterDnsObjects, corefile } from '../src/inside/cluster-dns.ts';
import { kubeletConfiguration } from '../src/inside/kubelet-configuration.ts';
import { isReadySince, isTrue } from '../src/inside/readiness.ts';
import { parseKept } from '../src/kept.ts';
import { settingsToRestore } from '../src/kernel-settings.ts';
import { Lines } from '../src/messages.ts';
import { mountPointsIn } from '../src/mount-points.ts';
import { reachableServers } from '../src/name-servers.ts';
import { clusterNetwork, freeBlock, isBlockFree } from '../src/network.ts';
import { DEFAULT_DIRECTORY, parseClusterOptions, usage } from '../src/options.ts';
import { ownerProblem } from '../src/owner.ts';
import { directoryProblem, placesIn } from '../src/places.ts';
import { parseState } from '../src/state.ts';
import { summary } from '../src/summary.ts';
import { firewallRules } from '../src/uplink.ts';

test.each([
  [['cluster', 'up'], 'kubelet cluster', ['up']],
  [['cluster', 'cluster'], 'kubelet cluster', ['cluster']],
  [['down', '--cluster', '--run-dir', '/r'], 'npm start -- --cluster', ['down', '--run-dir', '/r']],
  [['up', '--nodes', '2'], 'kubelet-cluster', ['up', '--nodes', '2']],
  [[], 'kubelet-cluster', []],
])('the command line %j means that the program was called as %s with the arguments %j', (argv, calledAs, args) => {
  expect(readCall(argv)).toEqual({ calledAs, args });
  expect(usage(calledAs)).toContain(`\n       ${calledAs} down [`);
});

test.each([
  [[], { command: 'up', nodes: 1, directory: DEFAULT_DIRECTORY, keeps: false, detaches: false }],
  [['--nodes', '2', '--detach'], { nodes: 2, detaches: true }],
  [['--data', '/d'], { directory: '/d', keeps: true }],
  [['down', '--run-dir', '/r'], { command: 'down', directory: '/r', keeps: false }],
  [['up', '--binaries', '/b'], { binaries: '/b' }],
])('parses the cluster options %j as %j', (args, expected) => {
  expect(parseClusterOptions(args)).toMatchObject({ options: expected });
});

test.each([
  [['left'], 'left: must be up or down'],
  [['up', 'down'], 'up down: must be up or down'],
  [['--nodes', '3'], '--nodes 3: must be 1 or 2'],
  [['--nodes', '1.5'], '--nodes 1.5: must be 1 or 2'],
  [['--data', '/d', '--run-dir', '/r'], '--data and --run-dir must not be used together'],
  [['--data', ''], '--data: must be a directory'],
])('rejects the cluster options %j with the problem: %s', (args, problem) => {
  expect(parseClusterOptions(args)).toEqual({ problem });
});

test('rejects an unknown cluster option', () => {
  expect(parseClusterOptions(['--wrong'])).toMatchObject({ problem: expect.stringContaining('--wrong') });
});

test('pods, services, nodes and the machine have distinct addresses in one subnet', () => {
  const network = clusterNetwork(161, 2);
  expect(network.nodes.map(({ address }) => address)).toEqual(['10.161.255.1', '10.161.255.2']);
  expect(network.nodes.map(({ podSubnet }) => podSubnet)).toEqual(['10.161.1.0/24', '10.161.2.0/24']);
  const blocks = [network.podSubnet, network.serviceSubnet].map(rangeOf);
  for (const { address, podSubnet } of network.nodes) {
    expect(contains(rangeOf(network.podSubnet), rangeOf(podSubnet))).toBe(true);
    for (const block of blocks) expect(contains(block, rangeOf(`${address}/32`))).toBe(false);
  }
  for (const address of [network.apiAddress, network.dnsAddress]) {
    expect(contains(rangeOf(network.serviceSubnet), rangeOf(`${address}/32`))).toBe(true);
  }
  for (const subnet of [...blocks, rangeOf(`${network.hostAddress}/32`)]) {
    expect(contains(rangeOf(network.subnet), subnet)).toBe(true);
  }
});

test('chooses the next free subnet if the machine uses the first one', () => {
  expect(freeBlock(33, '')).toBe(161);
  expect(freeBlock(33, '2: eth0 inet 10.161.4.2/24')).toBe(162);
  expect(freeBlock(31, '10.191.0.0/16 via 1.1.1.1 dev x')).toBe(160);
  expect(isBlockFree(161, '110.161.0.1 10.16.1.1')).toBe(true);
  const all = Array.from({ length: 32 }, (_, index) => `10.${160 + index}.0.1`).join('\n');
  expect(() => freeBlock(0, all)).toThrow('is in use');
});

test('interface names have at most 15 characters, and a directory with a long path is refused', () => {
  const { link, group } = placesIn('/var/lib/node-agent-cluster');
  expect(link.length).toBeLessThanOrEqual(15);
  expect(placesIn('/other')).not.toMatchObject({ link, group });
  expect(directoryProblem('/var/lib/node-agent-cluster')).toBe(undefined);
  expect(directoryProblem(`/${'x'.repeat(100)}`)).toMatch(/^path is too long by 16 bytes for the socket \/x/);
});

const STATE = {
  pid: 7,
  startTime: '12',
  keeps: false,
  subnet: '10.161.0.0/16',
  mountPoints: ['/var/lib/kubelet'],
  kernelSettings: { 'kernel/panic': '0' },
};

test.each([
  ['{', 'no JSON'],
  ['null', 'null'],
  [JSON.stringify({ ...STATE, pid: '7' }), 'pid'],
  [JSON.stringify({ ...STATE, mountPoints: [1] }), 'mount points'],
  [JSON.stringify({ ...STATE, kernelSettings: { a: 1 } }), 'kernel settings'],
])('rejects the text %s as the state of a cluster', (text) => {
  expect(parseState(text)).toBe(undefined);
});

test('parses the state file of a running cluster, and the address block that is stored with the data of a stopped cluster', () => {
  expect(parseState(JSON.stringify(STATE))).toEqual(STATE);
  expect(parseKept('{"block":161}')).toEqual({ block: 161 });
  for (const text of ['', '{}', '{"block":256}', '{"block":1.5}', '[]']) expect(parseKept(text)).toBe(undefined);
});

test('restores a kernel setting only if it still has the value that the cluster set', () => {
  const before = {
    'kernel/panic': '0',
    'vm/overcommit_memory': '1',
    'vm/panic_on_oom': '2',
    'net/ipv4/ip_forward': '0',
  };
  const now = { 'kernel/panic': '10', 'vm/overcommit_memory': '1', 'vm/panic_on_oom': '1', 'net/ipv4/ip_forward': '1' };
  expect(settingsToRestore(before, now)).toEqual([
    ['kernel/panic', '0'],
    ['net/ipv4/ip_forward', '0'],
  ]);
});

test('uses only name servers that a network namespace can reach', () => {
  const text = 'nameserver 127.0.0.53\n# nameserver 9.9.9.9\nnameserver 10.0.0.2\nnameserver fd00::1\nsearch x\n';
  expect(reachableServers(text)).toEqual(['10.0.0.2']);
  expect(reachableServers(['1', '2', '3', '4'].map((last) => `nameserver 10.0.0.${last}\n`).join(''))).toHaveLength(3);
});

test('CoreDNS forwards other names only if there is a name server', () => {
  expect(corefile(['10.0.0.2', '10.0.0.3'])).toContain('    forward . 10.0.0.2 10.0.0.3\n');
  expect(corefile([])).not.toContain('forward');
});

test('the cluster DNS is the service kube-dns at the address that kubelets give to pods', () => {
  const objects = clusterDnsObjects('10.161.128.10', []);
  expect(objects.at(-1)).toMatchObject({
    collection: '/api/v1/namespaces/kube-system/services',
    object: { metadata: { name: 'kube-dns' }, spec: { clusterIP: '10.161.128.10' } },
  });
  const facts = { nodeName: 'node-2', endpoint: 'unix:///c', clientCaFile: '/ca', dnsAddress: '10.161.128.10' };
  expect(kubeletConfiguration(facts)).toMatchObject({ clusterDNS: ['10.161.128.10'], cgroupRoot: '/node-2' });
});

test('a node condition that is absent, False or Unknown does not count as True', () => {
  const node = (conditions?: { type: string; status: string }[]) => ({
    metadata: { name: 'n' },
    ...(conditions && { status: { conditions } }),
  });
  expect(isTrue(node(), 'Ready')).toBe(false);
  for (const status of ['False', 'Unknown']) expect(isTrue(node([{ type: 'Ready', status }]), 'Ready')).toBe(false);
  expect(isTrue(node([{ type: 'Ready', status: 'True' }]), 'Ready')).toBe(true);
  expect(isTrue(node([{ type: 'Ready', status: 'True' }]), 'Available')).toBe(false);
});

test('a node that reported readiness only in an earlier run does not count as ready', () => {
  const node = (status: string, lastHeartbeatTime: string) => ({
    metadata: { name: 'n' },
    status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime }] },
  });
  const since = Date.parse('2026-01-01T00:00:10.700Z');
  expect(isReadySince(node('True', '2026-01-01T00:00:09Z'), since)).toBe(false);
  expect(isReadySince(node('True', '2026-01-01T00:00:10Z'), since)).toBe(true);
  expect(isReadySince(node('False', '2026-01-01T00:00:11Z'), since)).toBe(false);
  expect(isReadySince({ metadata: { name: 'n' } }, since)).toBe(false);
});

test('each firewall rule names the link of the cluster, so that only its own rules are removed', () => {
  const rules = firewallRules({ link: 'nac-1', subnet: '10.161.0.0/16' });
  expect(rules.map(({ chain }) => chain)).toEqual(['POSTROUTING', 'FORWARD', 'FORWARD']);
  for (const { rule } of rules) expect(rule.join(' ')).toContain('-m comment --comment nac-1');
});

test('reads the mount points of a mount namespace', () => {
  const line = (point: string): string => `40 31 0:37 /own${point} ${point} rw,relatime shared:9 - ext4 /dev/vda rw`;
  expect(mountPointsIn(`${line('/')}\n${line('/var/lib/kubelet')}\n`)).toEqual(['/', '/var/lib/kubelet']);
});

test('messages are split at line ends, also if a line arrives in pieces', () => {
  const lines = new Lines();
  expect(lines.push('a\nb')).toEqual(['a']);
  expect(lines.push('c\n\n')).toEqual(['bc', '']);
});

test('the summary of a started cluster shows how to stop it and which data is kept', () => {
  const places = { kubectl: '/k/kubectl', kubeconfig: '/d/kubeconfig', directory: '/d' };
  const facts = { ...places, calledAs: 'kubelet cluster', selection: ['--data', '/d'] };
  const attached = summary({ ...facts, keeps: false, detaches: false });
  expect(attached).toContain('  export KUBECONFIG=/d/kubeconfig');
  expect(attached.at(-1)).toBe('Ctrl-C removes the cluster and all its data.');
  expect(summary({ ...facts, keeps: true, detaches: true }).at(-1)).toBe(
    '`kubelet cluster down --data /d` stops the cluster; its state stays in /d.',
  );
});

function rangeOf(subnet: string): readonly [number, number] {
  const [address = '', bits = '32'] = subnet.split('/');
  const first = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return [first, first + 2 ** (32 - Number(bits)) - 1];
}

function contains(outer: readonly [number, number], inner: readonly [number, number]): boolean {
  return outer[0] <= inner[0] && inner[1] <= outer[1];
}

test.each([
  [{ uid: 0, mode: 0o40755 }, undefined],
  [{ uid: 0, mode: 0o41777 }, 'must not be writable by other users'],
  [{ uid: 0, mode: 0o40770 }, 'must not be writable by other users'],
  [{ uid: 65534, mode: 0o40700 }, 'must belong to root'],
])('a cluster directory with %j has the ownership problem: %s', (stats, problem) => {
  expect(ownerProblem(stats)).toBe(problem);
});
