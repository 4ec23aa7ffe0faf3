import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bridgesWithin, removeLeftBridges } from '../src/bridges.ts';
import { cannotRun } from '../src/index.ts';
import { run } from '../src/run.ts';

const ADDRESSES = `1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever
2: eth0    inet 10.199.0.7/24 brd 10.199.0.255 scope global eth0\\       valid_lft forever preferred_lft forever
5: na-0123abcd    inet 10.199.0.1/24 brd 10.199.0.255 scope global na-0123abcd\\       valid_lft forever
5: na-0123abcd    inet 10.199.0.2/24 scope global secondary na-0123abcd\\       valid_lft forever
6: na-89abcdef    inet 10.199.1.1/24 brd 10.199.1.255 scope global na-89abcdef\\       valid_lft forever
7: na-mine    inet 10.199.0.9/24 scope global na-mine\\       valid_lft forever
8: na-0123abcd9    inet 10.199.0.9/24 scope global na-0123abcd9\\       valid_lft forever
9: na-ffffffff    inet 200.0.0.1/8 scope global na-ffffffff\\       valid_lft forever
`;

test.each([
  ['10.199.0.0/24', ['na-0123abcd']],
  ['10.199.1.0/24', ['na-89abcdef']],
  ['10.199.0.0/16', ['na-0123abcd', 'na-89abcdef']],
  ['10.199.2.0/24', []],
  ['10.199.0.1/32', ['na-0123abcd']],
  ['200.0.0.0/8', ['na-ffffffff']],
  ['0.0.0.0/0', ['na-0123abcd', 'na-89abcdef', 'na-ffffffff']],
])('bridgesWithin %s returns %j', (subnet, names) => {
  expect(bridgesWithin(ADDRESSES, subnet)).toEqual(names);
});

test('removes leftover bridges in the subnet, and keeps bridges with pods, of other subnets or with other names', async (context) => {
  const reason = cannotRun();
  if (reason !== undefined) context.skip(reason);
  const name = (): string => `na-${randomBytes(4).toString('hex')}`;
  const [left, used, elsewhere] = [name(), name(), name()];
  const other = `nx-${randomBytes(4).toString('hex')}`;
  const [port, peer] = [`p${randomBytes(4).toString('hex')}`, `q${randomBytes(4).toString('hex')}`];
  const exists = (link: string): boolean => existsSync(`/sys/class/net/${link}`);
  const ip = (...args: string[]) => run('ip', args);
  try {
    for (const [link, address] of [
      [left, '10.254.253.1/24'],
      [used, '10.254.253.2/24'],
      [elsewhere, '10.254.252.1/24'],
      [other, '10.254.253.3/24'],
    ] as const) {
      await ip('link', 'add', link, 'type', 'bridge');
      await ip('addr', 'add', address, 'dev', link);
    }
    await ip('link', 'add', port, 'type', 'veth', 'peer', 'name', peer);
    await ip('link', 'set', port, 'master', used);
    expect(await removeLeftBridges('10.254.253.0/24')).toEqual([left]);
    expect([left, used, elsewhere, other].map(exists)).toEqual([false, true, true, true]);
    expect(await removeLeftBridges('10.254.253.0/24')).toEqual([]);
  } finally {
    for (const link of [port, left, used, elsewhere, other]) if (exists(link)) await ip('link', 'delete', link);
  }
});
