import { expect, test } from 'vitest';
import { hostIpsOf } from '../src/host-ips.ts';

test.each([
  [[], []],
  [['Hostname=n1'], []],
  [['InternalIP=192.0.2.1', 'Hostname=n1'], ['192.0.2.1']],
  [['InternalIP=192.0.2.1', 'InternalIP=192.0.2.2'], ['192.0.2.1']],
  [
    ['InternalIP=192.0.2.1', 'InternalIP=2001:db8::1'],
    ['192.0.2.1', '2001:db8::1'],
  ],
  [
    ['InternalIP=2001:db8::1', 'InternalIP=192.0.2.1'],
    ['2001:db8::1', '192.0.2.1'],
  ],
  [['ExternalIP=198.51.100.1', 'InternalIP=192.0.2.1'], ['192.0.2.1']],
  [
    ['ExternalIP=2001:db8::1', 'InternalIP=192.0.2.1'],
    ['192.0.2.1', '2001:db8::1'],
  ],
  [['ExternalIP=198.51.100.1'], ['198.51.100.1']],
])('the host IPs of a node with the addresses %j are %j', (given, wanted) => {
  const addresses = given.map((text) => {
    const [type = '', address = ''] = text.split('=');
    return { type, address };
  });
  expect(hostIpsOf({ status: { addresses } })).toEqual(wanted);
});

test('a node without a status has no host IPs', () => expect(hostIpsOf({})).toEqual([]));
