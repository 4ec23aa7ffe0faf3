import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { type HttpRequest, RestClient } from '@node-agent/kube-client';
import { describe, expect, test } from 'vitest';
import { reasonOf } from '../src/errors.ts';
import { readNetworkFacts } from '../src/host-network.ts';
import type { Node } from '../src/node.ts';
import { parseNodeIps } from '../src/node-ips.ts';
import { restLeaseClient, restNodeClient } from '../src/rest-clients.ts';

const SIGNAL = new AbortController().signal;

function setUp(answer: { readonly status: number; readonly body: object }) {
  const requests: HttpRequest[] = [];
  const transport = {
    request: async (request: HttpRequest) => {
      requests.push(request);
      const body = (async function* () {
        yield new TextEncoder().encode(JSON.stringify(answer.body));
      })();
      return { status: answer.status, headers: {}, body };
    },
  };
  return { rest: new RestClient({ transport, clock: new FakeClock() }), requests };
}

describe('clients of nodes and leases', () => {
  const node: Node = { metadata: { name: 'n1' } };
  const lease = { metadata: { name: 'n1', namespace: 'kube-node-lease' } };

  test('nodes and leases are requested at their API paths', async () => {
    const { rest, requests } = setUp({ status: 200, body: node });
    const [nodes, leases] = [restNodeClient(rest), restLeaseClient(rest)];
    expect(await nodes.getNode('n1', { fresh: false }, SIGNAL)).toEqual(node);
    await nodes.createNode(node, SIGNAL);
    await nodes.patchNodeStatus('n1', { status: {} }, SIGNAL);
    await leases.getLease('n1', SIGNAL);
    await leases.createLease(lease, SIGNAL);
    await leases.updateLease(lease, SIGNAL);
    expect(requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)).toEqual([
      'GET /api/v1/nodes/n1',
      'POST /api/v1/nodes',
      'PATCH /api/v1/nodes/n1/status',
      'GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
      'POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
      'PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
    ]);
    expect(requests[2]?.headers['content-type']).toBe('application/strategic-merge-patch+json');
  });

  test('a node is read from the watch cache unless a fresh read is required', async () => {
    const { rest, requests } = setUp({ status: 200, body: node });
    const cached: Node = { metadata: { name: 'n1', uid: 'cached' } };
    const nodes = restNodeClient(rest, () => cached);
    expect(await nodes.getNode('n1', { fresh: false }, SIGNAL)).toBe(cached);
    expect(requests).toEqual([]);
    expect(await nodes.getNode('n1', { fresh: true }, SIGNAL)).toEqual(node);
  });

  test.each([
    [404, 'NotFound'],
    [403, 'Forbidden'],
    [409, 'AlreadyExists'],
  ])('a response with status code %i becomes an error with the code %s', async (status, reason) => {
    const body = { kind: 'Status', status: 'Failure', reason, code: status, message: 'no' };
    const failed = restNodeClient(setUp({ status, body }).rest).createNode(node, SIGNAL);
    expect(await failed.catch(reasonOf)).toBe(reason);
  });
});

describe('the network of the host', () => {
  const ROUTE = 'Iface\tDestination\neth0\t00000000\t0100000A\n';
  const listed = {
    lo: [{ address: '127.0.0.1', internal: true }],
    eth0: [{ address: '10.0.0.1', internal: false }],
  };

  async function facts(nodeIp: string, route: string | undefined, hostname = 'host-1') {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    await fs.mkdir('/proc/net');
    if (route !== undefined) await fs.writeFile('/proc/net/route', route);
    const asked: string[] = [];
    const lookup = async (name: string): Promise<readonly string[]> => {
      asked.push(name);
      if (name === 'unknown') throw new Error('ENOTFOUND');
      return ['10.0.0.9'];
    };
    const settings = { nodeName: 'n1', hostname, nodeIps: parseNodeIps(nodeIp).ips };
    return {
      fs,
      asked,
      lookup,
      settings,
      read: () => readNetworkFacts({ fs, networkInterfaces: () => listed, lookup }, settings),
    };
  }

  test('the host network consists of its interface addresses, the addresses of its name, and the default address', async () => {
    const { read } = await facts('', ROUTE);
    expect(await read()).toEqual({
      hostAddresses: ['127.0.0.1', '10.0.0.1'],
      namedAddresses: ['10.0.0.9'],
      defaultAddress: '10.0.0.1',
    });
  });

  test.each([
    ['10.0.0.1', 'host-1', []],
    ['', '10.7.7.7', []],
    ['0.0.0.0', 'host-1', ['n1']],
  ])(
    'with --node-ip=%s and the hostname %s, readNetworkFacts resolves only the names %j',
    async (nodeIp, hostname, names) => {
      const { read, asked } = await facts(nodeIp, ROUTE, hostname);
      await read();
      expect(asked).toEqual(names);
    },
  );

  test('readNetworkFacts returns no default address without a default route, and any address without a route table', async () => {
    expect((await (await facts('', 'Iface\n')).read()).defaultAddress).toBeUndefined();
    expect((await (await facts('', undefined)).read()).defaultAddress).toBe('10.0.0.1');
  });

  test('readNetworkFacts returns no addresses for an unknown name, and fails if the route table is unreadable', async () => {
    const { fs, lookup, settings } = await facts('', ROUTE);
    const host = { fs, networkInterfaces: () => listed, lookup };
    expect((await readNetworkFacts(host, { ...settings, nodeName: 'unknown' })).namedAddresses).toEqual([]);
    fs.injectFault({ code: 'EIO', operation: 'read', path: '/proc/net/route' });
    await expect(readNetworkFacts(host, settings)).rejects.toMatchObject({ code: 'EIO' });
  });
});
