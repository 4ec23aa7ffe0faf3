import { describe, expect, test } from 'vitest';
import { checkIdRange, defaultIdRange, kubeletIdRange, parseSubIds, UserNamespaceError } from '../src/index.ts';

const { signal } = new AbortController();
const K64 = 65_536;

describe('ID range for pods', () => {
  test("defaultIdRange contains all IDs except those of the host's own users", () => {
    expect(defaultIdRange()).toEqual({ firstId: K64, length: 2 ** 32 - K64 });
    expect(defaultIdRange(2 * K64)).toEqual({ firstId: 2 * K64, length: 2 ** 32 - 2 * K64 });
    expect(() => checkIdRange(defaultIdRange(), K64, 110)).not.toThrow();
  });

  test.each([
    [{ firstId: K64, length: 110 * K64 }, K64, undefined],
    [{ firstId: K64, length: 110 * K64 }, 1000, 'kubelet user namespace length 1000 is not a multiple of 65536'],
    [{ firstId: K64, length: 110 * K64 }, 0, 'kubelet user namespace length 0 is not a multiple of 65536'],
    [{ firstId: K64 + 1, length: 110 * K64 }, K64, 'kubelet user assigned ID 65537 is not a multiple of 65536'],
    [{ firstId: 0, length: 110 * K64 }, K64, 'kubelet user assigned ID 0 must be greater or equal to 65536'],
    [
      { firstId: K64, length: 110 * K64 + 1 },
      K64,
      'kubelet user assigned IDs length 7208961 is not a multiple of 65536',
    ],
    [{ firstId: K64, length: 109 * K64 }, K64, 'kubelet user assigned IDs are not enough to support 110 pods'],
  ])('checkIdRange of %j with %d IDs for each of 110 pods fails with: %s', (range, idsPerPod, message) => {
    const check = (): void => checkIdRange(range, idsPerPod, 110);
    if (message === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code: 'InvalidRange', message }));
  });

  test.each([
    ['0: kubelet 65536 2147483648\n', { firstId: K64, length: 2 ** 31 }],
    [' 0:  kubelet\t7 8 \n', { firstId: 7, length: 8 }],
    ['0: kubelet 1 4294967295', { firstId: 1, length: 4_294_967_295 }],
    ['', 'invalid line ""'],
    ['0: kubelet 65536\n', 'invalid line "0: kubelet 65536"'],
    ['0: kubelet 1 2\n1: kubelet 3 4\n', 'it must contain only one line'],
    ['0: kubelet x 2\n', 'the range must be two 32-bit numbers'],
    ['0: kubelet -1 2\n', 'the range must be two 32-bit numbers'],
    ['0: kubelet 1 4294967296\n', 'the range must be two 32-bit numbers'],
  ])('parseSubIds of %j returns the range, or fails with: %j', (output, expected) => {
    if (typeof expected === 'string') expect(() => parseSubIds(output)).toThrow(expected);
    else expect(parseSubIds(output)).toEqual(expected);
  });
});

describe('kubeletIdRange', () => {
  const rangeOf = (userExists: boolean, outputs: Readonly<Record<string, string>> | undefined) =>
    kubeletIdRange(
      { userExists: async () => userExists, run: async (program, args) => outputs?.[[program, ...args].join(' ')] },
      K64,
      signal,
    );
  const line = '0: kubelet 131072 6553600\n';

  test('kubeletIdRange uses the default range if the user kubelet or getsubids is missing', async () => {
    expect(await rangeOf(false, { 'getsubids kubelet': line })).toEqual(defaultIdRange());
    expect(await rangeOf(true, undefined)).toEqual(defaultIdRange());
  });

  test('kubeletIdRange uses the range of getsubids if it is the same for users and groups', async () => {
    const same = { 'getsubids kubelet': line, 'getsubids -g kubelet': line };
    expect(await rangeOf(true, same)).toEqual({ firstId: 131_072, length: 6_553_600 });
    await expect(rangeOf(true, { ...same, 'getsubids -g kubelet': '0: kubelet 1 2\n' })).rejects.toThrow(
      'mismatched subuids and subgids for user "kubelet"',
    );
  });

  test('kubeletIdRange fails if getsubids fails, because the user database may be unavailable', async () => {
    const run = () => Promise.reject(new Error('Error fetching ranges'));
    await expect(kubeletIdRange({ userExists: async () => true, run }, K64, signal)).rejects.toThrow('fetching ranges');
  });

  test('an error of this package is recognised by its brand', () => {
    expect(UserNamespaceError.is(new UserNamespaceError('Exhausted', 'x'))).toBe(true);
    expect(UserNamespaceError.is(new Error('x'))).toBe(false);
  });
});
