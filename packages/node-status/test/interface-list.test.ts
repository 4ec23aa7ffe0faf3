import { expect, test } from 'vitest';
import { readNetworkFacts } from '../src/host-network.ts';
import { InterfaceList } from '../src/interface-list.ts';
import { nodeIpProblem, parseNodeIps } from '../src/node-ips.ts';

function host(tables: Record<string, string>) {
  let listed = 0;
  const list = new InterfaceList({
    fs: {
      readFile: async (path: string) => {
        const text = tables[path];
        if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' });
        return new TextEncoder().encode(text);
      },
    },
    networkInterfaces: () => ({ eth0: [{ address: `192.0.2.${++listed}`, internal: false }] }),
  });
  return { list, tables };
}

test("network interfaces are listed again only if the kernel's address tables have changed", async () => {
  const { list, tables } = host({ '/proc/net/fib_trie': 'a' });
  const first = await list.read();
  expect(await list.read()).toBe(first);
  tables['/proc/net/fib_trie'] = 'b';
  const second = await list.read();
  expect(second).not.toEqual(first);
  tables['/proc/net/if_inet6'] = 'c';
  expect(await list.read()).not.toBe(second);
});

test("without the kernel's address tables, interfaces are listed at each call", async () => {
  const { list } = host({});
  expect(await list.read()).not.toEqual(await list.read());
});

test('addresses of interfaces without a link, which Node.js does not list, are included in the list', async () => {
  const fibTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.9.9.0/24 2 0 2
        |-- 10.9.9.0
           /24 link UNICAST
        |-- 10.9.9.9
           /32 host LOCAL
        |-- 10.9.9.255
           /32 link BROADCAST
Local:
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
     |-- 192.0.2.1
        /32 host LOCAL
     |-- 10.9.9.9
        /32 host LOCAL
`;
  const ifInet6 = [
    '20010db8000000000000000000000009 05 40 00 80     eth1',
    'fe80000000000000000000000000000a 02 40 20 80     eth0',
    'nonsense',
  ].join('\n');
  const { list } = host({ '/proc/net/fib_trie': fibTrie, '/proc/net/if_inet6': ifInet6 });
  const interfaces = await list.read();
  expect(interfaces).toEqual({
    '': [{ address: '10.9.9.9', internal: false }],
    eth0: [
      { address: '192.0.2.1', internal: false },
      { address: 'fe80::a', internal: false },
    ],
    eth1: [{ address: '2001:db8::9', internal: false }],
  });
  const { hostAddresses } = await readNetworkFacts(
    {
      fs: { readFile: () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' })) },
      networkInterfaces: () => interfaces,
      lookup: async () => [],
    },
    { nodeName: 'n1', hostname: 'n1', nodeIps: parseNodeIps('10.9.9.9').ips },
  );
  expect(parseNodeIps('10.9.9.9').ips.map((ip) => nodeIpProblem(ip, hostAddresses))).toEqual([undefined]);
});
