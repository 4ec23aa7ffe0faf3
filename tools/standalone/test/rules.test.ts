import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { graceSeconds } from '../src/end-pods.ts';
import { isStaticElf, missingPrograms } from '../src/programs.ts';
import { guardRequest, isOwnEvent, RUN_LABEL } from '../src/runtimes/guard.ts';
import { freeSubnet } from '../src/subnet.ts';

describe('the guard of a shared runtime', () => {
  const mark = { [RUN_LABEL]: 'r1' };

  test.each([
    [
      'runPodSandbox',
      { config: { labels: { a: 'b' }, hostname: 'h' } },
      { config: { labels: { a: 'b', ...mark }, hostname: 'h' } },
    ],
    [
      'createContainer',
      { podSandboxId: 'p', config: { labels: {} }, sandboxConfig: null },
      { podSandboxId: 'p', config: { labels: mark }, sandboxConfig: { labels: mark } },
    ],
    ['listPodSandbox', { filter: null }, { filter: { labelSelector: mark } }],
    [
      'listContainers',
      { filter: { id: 'x', labelSelector: { a: 'b' } } },
      { filter: { id: 'x', labelSelector: { a: 'b', ...mark } } },
    ],
    ['streamContainers', {}, { filter: { labelSelector: mark } }],
    ['stopPodSandbox', { podSandboxId: 'p' }, { podSandboxId: 'p' }],
    ['listImages', { filter: null }, { filter: null }],
  ])('the guard converts the request %s to $2', (rpc, request, expected) => {
    expect(guardRequest(rpc, request, 'r1')).toEqual(expected);
  });

  test('the guard adds the label of the run to a copy of each list request', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('listPodSandbox', 'listContainers'),
        fc.dictionary(fc.string(), fc.string()),
        (rpc, labels) => {
          const request = { filter: { labelSelector: labels } };
          const before = structuredClone(request);
          expect(guardRequest(rpc, request, 'r1')).toMatchObject({ filter: { labelSelector: { ...labels, ...mark } } });
          expect(request).toEqual(before);
        },
      ),
    );
  });

  test.each([
    [{ labels: mark }, true],
    [{ labels: { [RUN_LABEL]: 'r2' } }, false],
    [{ labels: {} }, false],
    [null, true],
  ])('the guard passes on an event with the sandbox status %j: %s', (podSandboxStatus, expected) => {
    expect(isOwnEvent({ podSandboxStatus } as Parameters<typeof isOwnEvent>[0], 'r1')).toBe(expected);
  });
});

describe('the subnet of the pods', () => {
  const seed = Buffer.from([0, 5]);

  test("the pod subnet is derived from the seed and avoids the machine's addresses", () => {
    expect(freeSubnet(seed, [])).toBe('10.200.5.0/24');
    expect(freeSubnet(seed, ['10.200.5.1', '10.200.6.77', '10.200.70.1'])).toBe('10.200.7.0/24');
    expect(freeSubnet(Buffer.from([255, 255]), [])).toBe('10.215.255.0/24');
  });

  test('the pod subnet is always between 10.200 and 10.247', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2, maxLength: 2 }), (bytes) => {
        expect(freeSubnet(bytes, [])).toMatch(/^10\.2([0-3]\d|4[0-7])\.\d{1,3}\.0\/24$/);
      }),
    );
  });
});

test.each([
  [{}, 30],
  [{ 'io.kubernetes.pod.terminationGracePeriod': '0' }, 0],
  [{ 'io.kubernetes.pod.terminationGracePeriod': '5' }, 5],
  [{ 'io.kubernetes.pod.terminationGracePeriod': '-5' }, 30],
  [{ 'io.kubernetes.pod.terminationGracePeriod': 'soon' }, 30],
])('a container with annotations %j has a grace period of %d seconds', (annotations, expected) => {
  expect(graceSeconds(annotations)).toBe(expected);
});

describe('detecting a statically linked program', () => {
  function elf(...types: readonly number[]): Buffer {
    const head = Buffer.alloc(64 + types.length * 56);
    head.write('\x7fELF\x02\x01', 'latin1');
    head.writeBigUInt64LE(64n, 0x20);
    head.writeUInt16LE(56, 0x36);
    head.writeUInt16LE(types.length, 0x38);
    for (const [index, type] of types.entries()) head.writeUInt32LE(type, 64 + index * 56);
    return head;
  }

  test.each([
    ['without an interpreter', elf(1, 1, 2), true],
    ['with an interpreter', elf(6, 3, 1), false],
    ['cut off', elf(1, 1).subarray(0, 100), false],
    ['a script', Buffer.from(`#!/bin/sh\n${' '.repeat(100)}`), false],
    ['empty', Buffer.alloc(0), false],
  ])('isStaticElf returns for an executable or file (%s): $2', (_, head, expected) => {
    expect(isStaticElf(head)).toBe(expected);
  });

  test('the running Node.js has an interpreter', async () => {
    expect(isStaticElf((await readFile(process.execPath)).subarray(0, 4096))).toBe(false);
  });
});

test('a further program that is not installed is listed as missing, and its package has the same name', async () => {
  const [known, unknown] = ['sh', 'no-such-program'];
  const names = (await missingPrograms([known, unknown])).map(({ aptPackage }) => aptPackage);
  expect(names).not.toContain(known);
  expect(names.at(-1)).toBe(unknown);
});
