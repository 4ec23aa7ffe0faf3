import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isGlobalUnicast, isLinkLocal, isLoopback, isMulticast, isUnspecified, parseIp } from '../src/ip.ts';
import { nodeIpProblem, parseNodeIps } from '../src/node-ips.ts';

describe('IP addresses', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['010.000.0.1', '10.0.0.1'],
    ['::', '::'],
    ['2001:DB8::0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ])('IP address %s is normalised to %s', (text, canonical) => {
    expect(parseIp(text)?.text).toBe(canonical);
  });

  test.each([
    '',
    'node-1',
    '10.0.0',
    '10.0.0.256',
    '10..0.1',
    '0x10.0.0.1',
    '10.0.0.1/8',
    '1::2::3',
    '12345::',
    'fe80::1%eth0',
    ':1',
    '1:2:3:4:5:6:7:8:9',
    '::1.2.3',
  ])('%s is not an IP address', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });

  test('a string is an IP address if Node.js accepts it and it has no leading zeros; normalising the canonical form again changes nothing', () => {
    const texts = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ unit: fc.constantFrom('0', '1', 'f', ':', '.') }));
    fc.assert(
      fc.property(texts, (text) => {
        const ip = parseIp(text);
        if (isIP(text) !== 0) expect(ip).toBeDefined();
        if (ip === undefined) return;
        expect(isIP(ip.text)).toBe(ip.family);
        expect(parseIp(ip.text)).toEqual(ip);
        if (ip.family === 6) expect(ip.text).toBe(new URL(`http://[${text}]`).hostname.slice(1, -1));
      }),
    );
  });

  test.each([
    ['0.0.0.0', isUnspecified],
    ['::', isUnspecified],
    ['127.1.2.3', isLoopback],
    ['::1', isLoopback],
    ['224.0.0.1', isMulticast],
    ['ff02::1', isMulticast],
    ['169.254.1.1', isLinkLocal],
    ['fe80::1', isLinkLocal],
    ['febf::1', isLinkLocal],
  ] as const)(
    'IP address %s is exactly one of unspecified, loopback, multicast, link-local and global',
    (text, kind) => {
      const ip = parseIp(text);
      if (ip === undefined) throw new Error(text);
      const kinds = [isUnspecified, isLoopback, isMulticast, isLinkLocal, isGlobalUnicast];
      expect(kinds.filter((is) => is(ip))).toEqual([kind]);
    },
  );

  test.each(['10.0.0.1', '192.168.1.1', '8.8.8.8', 'fd00::1', '2001:db8::1', '::2'])(
    'IP address %s is a global unicast address',
    (text) => {
      expect(isGlobalUnicast(parseIp(text) ?? { text: '', family: 4 })).toBe(true);
    },
  );
});

describe('--node-ip', () => {
  test.each([
    ['', [], []],
    ['10.0.0.1', ['10.0.0.1'], []],
    [' 10.0.0.1 , fd00::1', ['10.0.0.1', 'fd00::1'], []],
    ['fd00::1,10.0.0.1', ['fd00::1', '10.0.0.1'], []],
    ['::', ['::'], []],
    ['nonsense,10.0.0.1', ['10.0.0.1'], ['nonsense']],
  ])('parsing --node-ip %j yields the addresses %j and the invalid parts %j', (argument, ips, invalid) => {
    const parsed = parseNodeIps(argument);
    expect(parsed.ips.map(({ text }) => text)).toEqual(ips);
    expect(parsed.invalid).toEqual(invalid);
  });

  test.each([
    ['10.0.0.1,10.0.0.2', 'must contain either a single IP or a dual-stack pair of IPs'],
    ['10.0.0.1,fd00::1,fd00::2', 'must contain either a single IP or a dual-stack pair of IPs'],
    ['0.0.0.0,fd00::1', "dual-stack node IP cannot include '0.0.0.0' or '::'"],
  ])('parsing --node-ip %j fails with: %s', (argument, why) => {
    expect(() => parseNodeIps(argument)).toThrow(
      expect.objectContaining({ code: 'InvalidNodeIp', message: `bad --node-ip ${JSON.stringify(argument)}: ${why}` }),
    );
  });

  test.each([
    ['127.0.0.1', "nodeIP can't be loopback address"],
    ['224.0.0.1', "nodeIP can't be a multicast address"],
    ['fe80::1', "nodeIP can't be a link-local unicast address"],
    ['0.0.0.0', "nodeIP can't be an all zeros address"],
    ['10.9.9.9', 'node IP: "10.9.9.9" not found in the host\'s network interfaces'],
    ['10.0.0.1', undefined],
    ['fd00::1', undefined],
  ])('on a host with 10.0.0.1 and fd00::1, the problem of --node-ip %s is: %s', (text, problem) => {
    const ip = parseIp(text);
    expect(ip && nodeIpProblem(ip, ['10.0.0.1', 'FD00:0::1'])).toBe(problem);
  });
});

test('the broadcast address is not accepted as a host address', () => {
  const of = (text: string) => isGlobalUnicast({ text, family: 4 });
  expect(['255.255.255.255', '255.255.255.254', '10.0.0.1'].map(of)).toEqual([false, true, true]);
});
