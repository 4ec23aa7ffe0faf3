import { expect, test } from 'vitest';
import { parseOptions } from '../src/options.ts';

const REQUIRED = ['--kubeconfig', 'admin.kubeconfig'];

test('by default, parseOptions returns ten nodes with 8 CPUs and 110 pods, and server ports from 20250 on', () => {
  expect(parseOptions(REQUIRED)).toMatchObject({
    ...{ kubeconfig: 'admin.kubeconfig', nodes: 10, first: 0, namePrefix: 'hollow-', port: 20_250, maxPods: 110 },
    size: { cpus: 8, memoryBytes: 32 * 2 ** 30, storageBytes: 100 * 2 ** 30 },
    ...{ labels: {}, taints: [], hasLatencies: false },
  });
  expect(parseOptions(['--help'])).toBeUndefined();
});

test('parseOptions parses labels and taints', () => {
  const argv = ['--label', 'a=b', '--label=c=', '--taint', 'hollow=true:NoSchedule', '--taint', 'x:NoExecute'];
  expect(parseOptions([...REQUIRED, ...argv])).toMatchObject({
    labels: { a: 'b', c: '' },
    taints: [
      { key: 'hollow', value: 'true', effect: 'NoSchedule' },
      { key: 'x', effect: 'NoExecute' },
    ],
  });
});

test.each([
  [[], '--kubeconfig: is required'],
  [['--nodes', '0'], '--nodes: must be an integer from 1 to 10000'],
  [['--nodes', '1e3'], '--nodes: must be an integer from 1 to 10000'],
  [['--memory', '0'], '--memory: must be a quantity above 0 such as 32Gi'],
  [['--label', 'a'], '--label: a: must be KEY=VALUE'],
  [['--taint', 'a=b'], '--taint: a=b: must be KEY=VALUE:NoSchedule, or with another effect'],
  [['--tls-cert-file', 'a'], '--tls-cert-file and --tls-private-key-file: one requires the other'],
  [['--bogus'], "Unknown option '--bogus'"],
])('parseOptions rejects %j with a message that names the option', (argv, message) => {
  expect(() => parseOptions(argv.length === 0 ? [] : [...REQUIRED, ...argv])).toThrow(message);
});
