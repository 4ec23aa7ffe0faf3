import { expect, test } from 'vitest';
import { kubeletConfiguration } from '../src/inside/kubelet-configuration.ts';
import { HELP, parseConformanceOptions } from '../src/options.ts';
import { busyboxConfig } from '../src/programs.ts';
import { suiteArguments } from '../src/suite.ts';

const places = { ginkgo: 'g', suite: '/s', kubectl: '/k', kubeconfig: '/c', runtime: 'unix:///r', output: '/o' };

test('without options NodeConformance is run, but for the spec of half an hour', () => {
  const options = parseConformanceOptions([]);
  expect(options).toMatchObject({ labels: 'NodeConformance', processes: 12, repeat: 1, compare: false });
  const args = suiteArguments(options, places);
  expect(args).toContain('--label-filter=NodeConformance');
  expect(args.filter((arg) => arg.startsWith('--skip='))).toEqual([expect.stringContaining('MaxContainerBackOff')]);
  expect(args.indexOf('/s')).toBeLessThan(args.indexOf('--kubeconfig=/c'));
  expect(parseConformanceOptions(['--long']).skip).toEqual([]);
});

test('a choice of specs reaches ginkgo as it is', () => {
  const options = parseConformanceOptions([
    '--labels',
    '',
    '--focus',
    'a b',
    '--focus',
    'c',
    '--skip',
    'd|e',
    '--long',
  ]);
  const chosen = suiteArguments(options, places).filter((arg) => /^--(focus|skip|label-filter)/.test(arg));
  expect(chosen).toEqual(['--focus=a b', '--focus=c', '--skip=d|e']);
});

test('what cannot be is refused by its name', () => {
  for (const argv of [['--processes', '0'], ['--repeat', 'x'], ['--focus', '('], ['--skip', '['], ['--unknown']]) {
    expect(() => parseConformanceOptions(argv), argv.join(' ')).toThrow(argv[0]);
  }
});

test('every option is in the help', () => {
  const words = [
    'labels',
    'focus',
    'skip',
    'long',
    'processes',
    'repeat',
    'kubelet',
    'compare',
    'output',
    'docs',
    'list',
  ];
  for (const word of words) expect(HELP).toContain(`  --${word}`);
});

test('busybox is static and has no tc', () => {
  const defaults = '# CONFIG_STATIC is not set\nCONFIG_TC=y\nCONFIG_TCPSVD=y\n';
  expect(busyboxConfig(defaults)).toBe('CONFIG_STATIC=y\n# CONFIG_TC is not set\nCONFIG_TCPSVD=y\n');
});

test("every kubelet's configuration leaves what specs look at as upstream has it", () => {
  const configuration = kubeletConfiguration({ endpoint: 'unix:///r', clientCaFile: '/ca', cgroupRoot: '/x' });
  expect(configuration).toMatchObject({ cgroupRoot: '/x', authorization: { mode: 'Webhook' } });
  for (const field of ['allowedUnsafeSysctls', 'podLogsDir', 'featureGates'])
    expect(configuration).not.toHaveProperty(field);
});
