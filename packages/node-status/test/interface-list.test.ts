import { expect, test } from 'vitest';
import { InterfaceList } from '../src/interface-list.ts';

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

test('interfaces are listed again only where the kernel has other addresses', async () => {
  const { list, tables } = host({ '/proc/net/fib_trie': 'a' });
  const first = await list.read();
  expect(await list.read()).toBe(first);
  tables['/proc/net/fib_trie'] = 'b';
  const second = await list.read();
  expect(second).not.toEqual(first);
  tables['/proc/net/if_inet6'] = 'c';
  expect(await list.read()).not.toBe(second);
});

test('a machine without such tables is asked each time', async () => {
  const { list } = host({});
  expect(await list.read()).not.toEqual(await list.read());
});
