import fc from 'fast-check';
import { expect, test } from 'vitest';
import { IpPool } from '../src/core/ip-pool.ts';

test('addresses are allocated in order and reused only after all others', () => {
  const pool = new IpPool('10.1.2.0/29');
  expect([pool.allocate(), pool.allocate()]).toEqual(['10.1.2.2', '10.1.2.3']);
  pool.release('10.1.2.2');
  expect([pool.allocate(), pool.allocate(), pool.allocate()]).toEqual(['10.1.2.4', '10.1.2.5', '10.1.2.6']);
  expect([pool.allocate(), pool.allocate()]).toEqual(['10.1.2.2', undefined]);
});

test('IPv6 addresses are formatted as RFC 5952 specifies', () => {
  expect(new IpPool('fd00:10:88::/64').allocate()).toBe('fd00:10:88::2');
  expect(new IpPool('2001:db8:0:1:0:0:1:0/112').allocate()).toBe('2001:db8:0:1::1:2');
});

test.each([
  '',
  '10.0.0.0',
  '10.0.0/8',
  '10.0.0.256/8',
  '10.0.0.0/31',
  '10.0.0.0/x',
  ':::/64',
  'fd00::1::/64',
  'fd00::/127',
])('the pod CIDR %j is rejected', (cidr) => {
  expect(() => new IpPool(cidr)).toThrow(TypeError);
});

test('no address is allocated twice at the same time', () => {
  const steps = fc.array(fc.oneof(fc.constant('take' as const), fc.nat(20)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 24, max: 29 }), (todo, prefix) => {
      const pool = new IpPool(`10.1.0.0/${prefix}`);
      const held: string[] = [];
      for (const step of todo) {
        if (step === 'take') {
          const ip = pool.allocate();
          if (ip === undefined) expect(held).toHaveLength(2 ** (32 - prefix) - 3);
          else {
            expect(held).not.toContain(ip);
            held.push(ip);
          }
        } else {
          const [ip] = held.splice(step % Math.max(held.length, 1), 1);
          if (ip !== undefined) pool.release(ip);
        }
      }
    }),
  );
});
