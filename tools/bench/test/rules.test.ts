import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { barePod } from '../src/bare-config.ts';
import { COMMAND, podManifest } from '../src/manifest.ts';
import { parseOptions } from '../src/options.ts';
import { shebangFlags } from '../src/shebang.ts';
import { median, quantile } from '../src/statistics.ts';
import { freeSubnets } from '../src/subnets.ts';

describe('median', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[7], 7],
    [[], Number.NaN],
  ])('median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test('quantile lies between minimum and maximum and is monotonic', () => {
    const values = fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1 });
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(values, part, part, (all, a, b) => {
        const [low, high] = [quantile(all, Math.min(a, b)), quantile(all, Math.max(a, b))];
        expect(low).toBeLessThanOrEqual(high);
        expect(quantile(all, 0)).toBe(Math.min(...all));
        expect(quantile(all, 1)).toBe(Math.max(...all));
      }),
    );
  });
});

describe('parseOptions', () => {
  test('parseOptions applies defaults', () => {
    expect(parseOptions([])).toMatchObject({ pods: 50, repetitions: 3, idlePods: 100, runtime: 'auto', json: false });
  });

  test('parseOptions parses numbers, lists and flags', () => {
    const options = parseOptions([
      '--pods',
      '7',
      '--concurrency',
      '1,9',
      '--only',
      'idle,batch',
      '--node-flags=--a  --b',
    ]);
    expect(options).toMatchObject({
      pods: 7,
      concurrency: [1, 9],
      parts: ['idle', 'batch'],
      nodeFlags: ['--a', '--b'],
    });
  });

  test.each([
    [['--pods', '0'], 'is "0"'],
    [['--pods', '251'], 'from 1 to 250'],
    [['--pods', 'many'], 'is "many"'],
    [['--concurrency', '2,'], 'is ""'],
    [['--runtime', 'podman'], 'must be one of auto, system, 2.4'],
    [['--only', 'all'], 'is "all"'],
    [['--podz', '1'], '--podz'],
  ])('parseOptions rejects %j', (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(message);
  });
});

test("shebangFlags returns the Node flags of a program's first line", () => {
  expect(shebangFlags('#!/usr/bin/env -S node --max-semi-space-size=2 --x\nimport "a";')).toEqual([
    '--max-semi-space-size=2',
    '--x',
  ]);
  expect(shebangFlags('#!/usr/bin/env node\nimport "a";')).toEqual([]);
  expect(shebangFlags('import "a"; // #!/usr/bin/env -S node --x')).toEqual([]);
});

test('barePod and podManifest run the same command in the same image', () => {
  const { container, sandbox } = barePod('batch-1-0', '/t');
  const { spec, metadata } = JSON.parse(podManifest('batch-1-0'));
  expect(spec.containers[0]).toMatchObject({ image: container.image?.image, command: COMMAND });
  expect(container.command).toEqual(COMMAND);
  expect(sandbox.metadata).toMatchObject({ name: metadata.name, namespace: metadata.namespace });
});

describe('freeSubnets', () => {
  test('freeSubnets returns two different subnets without addresses of the machine', () => {
    const free = freeSubnets(0, ['10.224.0.1', '192.168.0.1', '10.224.2.77']);
    expect(free).toEqual(['10.224.1.0/24', '10.224.3.0/24']);
  });

  test('freeSubnets returns different subnets for successive seeds and wraps around at the end', () => {
    const all = Array.from({ length: 2048 }, (_none, seed) => freeSubnets(seed, [])).flat();
    expect(new Set(all).size).toBe(all.length);
    expect(freeSubnets(2047, ['10.239.255.1'])).toEqual(['10.239.254.0/24', '10.224.0.0/24']);
  });

  test('freeSubnets throws if fewer than two subnets are free', () => {
    const taken = Array.from({ length: 4096 }, (_none, index) => `10.${224 + (index >> 8)}.${index & 255}.1`);
    expect(() => freeSubnets(5, taken.slice(1))).toThrow('are taken');
  });
});
