import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { corefile } from '../src/corefile.ts';
import { featureArguments } from '../src/features.ts';
import { kubeletConfiguration } from '../src/inside/kubelet-configuration.ts';
import { HELP, parseConformanceOptions } from '../src/options.ts';
import { busyboxConfig, expectKubelet } from '../src/programs.ts';
import { SELECTIONS } from '../src/selections.ts';
import { clusterArguments, progressOf, suiteArguments } from '../src/suite.ts';
import { matches, parseControl, parseRun } from '../src/units/command-line.ts';

const cluster = clusterArguments({ kubectl: '/k', kubeconfig: '/c', output: '/o' });
const program = { ginkgo: 'g', suite: '/s', args: cluster, output: '/o' };

test('runs NodeConformance by default, without the spec that takes half an hour', () => {
  const options = parseConformanceOptions([]);
  expect(options).toMatchObject({ labels: 'NodeConformance', processes: 12, repeat: 1, compare: false });
  expect(options.apart).toBeUndefined();
  const args = suiteArguments(options, program, 'unix:///r');
  expect(args).toContain('--label-filter=NodeConformance');
  expect(args.filter((arg) => arg.startsWith('--skip='))).toEqual([expect.stringContaining('MaxContainerBackOff')]);
  expect(args.indexOf('/s')).toBeLessThan(args.indexOf('--kubeconfig=/c'));
  expect(parseConformanceOptions(['--long']).skip).toEqual([]);
});

test('a selection sets suite, labels and focus, which options can override', () => {
  for (const [name, { suite, labels, focus }] of Object.entries(SELECTIONS)) {
    const options = parseConformanceOptions(['--selection', name, '--docs']);
    expect(options).toMatchObject({ selection: name, suite, labels, focus, writeDocs: true });
    expect(HELP).toContain(name);
    for (const pattern of focus) expect(() => new RegExp(pattern)).not.toThrow();
  }
  expect(parseConformanceOptions(['--selection', 'network', '--focus', 'DNS'])).toMatchObject({
    labels: SELECTIONS.network.labels,
    focus: ['DNS'],
  });
});

test('ginkgo names each spec in its log only if the run is verbose', () => {
  const options = parseConformanceOptions([]);
  expect(suiteArguments(options, program, 'unix:///r')).not.toContain('-v');
  const args = suiteArguments({ ...options, verbose: true }, program, 'unix:///r');
  expect(args.indexOf('-v')).toBeLessThan(args.indexOf('/s'));
  expect(args).toContain('-v');
});

test('overlapping runs use the same seed for the order of specs', () => {
  const options = parseConformanceOptions(['--repeat', '2', '--apart', '15'], 1_700_000_000_999);
  expect(options).toMatchObject({ repeat: 2, apart: 15, seed: 1_700_000_000 });
  expect(suiteArguments(options, program, 'unix:///r')).toContain('--seed=1700000000');
  expect(parseConformanceOptions(['--seed', '7'])).toMatchObject({ seed: 7 });
  expect(() => parseConformanceOptions(['--apart', 'x'])).toThrow('--apart: must be an integer from 1 to 600, is "x"');
});

test('the selection whose specs fill the disk uses its own file system', () => {
  expect(parseConformanceOptions(['--selection', 'e2e-node-eviction'])).toMatchObject({ ownDisk: true });
  expect(parseConformanceOptions(['--selection', 'e2e-node-serial'])).toMatchObject({ ownDisk: false });
});

test('--docs requires a whole selection and this kubelet', () => {
  for (const more of [
    ['--focus', 'x'],
    ['--labels', ''],
    ['--skip', 'x'],
    ['--suite', 'e2e'],
    ['--long'],
    ['--kubelet', 'k'],
  ])
    expect(() => parseConformanceOptions(['--docs', ...more]), more.join(' ')).toThrow('--docs');
  expect(() => parseConformanceOptions(['--continue'])).toThrow('--continue: requires --docs');
  expect(parseConformanceOptions(['--docs', '--continue'])).toMatchObject({ writeDocs: true, continues: true });
});

test('passes labels, focus and skip to ginkgo unchanged', () => {
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
  const chosen = suiteArguments(options, program, 'unix:///r').filter((arg) =>
    /^--(focus|skip|label-filter)/.test(arg),
  );
  expect(chosen).toEqual(['--focus=a b', '--focus=c', '--skip=d|e']);
});

test('e2e_node leaves out the specs that e2e contains, unless --common is given', () => {
  const [without, withAll] = [[], ['--common']].map((more) =>
    suiteArguments(parseConformanceOptions(['--suite', 'e2e_node', ...more]), program, 'unix:///r'),
  );
  expect(without).toContain('--skip-file=test/e2e/common/');
  expect(withAll?.join(' ')).not.toContain('--skip-file');
});

test('the command line is rejected with the name of an option that is unknown or has an invalid value', () => {
  for (const argv of [
    ['--suite', 'x'],
    ['--selection', 'toString'],
    ['--processes', '0'],
    ['--repeat', 'x'],
    ['--focus', '('],
    ['--skip', '['],
    ['--unknown'],
  ]) {
    expect(() => parseConformanceOptions(argv), argv.join(' ')).toThrow(argv[0]);
  }
});

test('the help contains every option', () => {
  const words = [
    'selection',
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
    'continue',
    'list',
  ];
  for (const word of words) expect(HELP).toContain(`  --${word}`);
  for (const word of ['-h', '--help']) expect(parseConformanceOptions([word]).help, word).toBe(true);
});

test('expectKubelet accepts an executable file and rejects others', async () => {
  await expect(expectKubelet('/bin/sh')).resolves.toBeUndefined();
  await expect(expectKubelet('/no/such')).rejects.toThrow('ENOENT');
  await expect(expectKubelet('..')).rejects.toThrow('.. must be a file');
  await expect(expectKubelet(fileURLToPath(import.meta.url))).rejects.toThrow('EACCES');
});

test('busybox is configured as static and without tc', () => {
  const defaults = '# CONFIG_STATIC is not set\nCONFIG_TC=y\nCONFIG_TCPSVD=y\n';
  expect(busyboxConfig(defaults)).toBe('CONFIG_STATIC=y\n# CONFIG_TC is not set\nCONFIG_TCPSVD=y\n');
});

test("the kubelet configuration leaves fields that specs check at upstream's defaults", () => {
  const configuration = kubeletConfiguration({
    endpoint: 'unix:///r',
    clientCaFile: '/ca',
    dns: '10.0.0.1',
    gates: [],
  });
  expect(configuration).toMatchObject({ clusterDNS: ['10.0.0.1'], authorization: { mode: 'Webhook' } });
  for (const field of ['cgroupRoot', 'allowedUnsafeSysctls', 'podLogsDir', 'featureGates'])
    expect(configuration).not.toHaveProperty(field);
});

test('the DRA selection enables its gates in the control plane and in the kubelet, and serves its API versions', () => {
  const { cluster } = parseConformanceOptions(['--selection', 'dra']);
  expect(cluster.gates).toContain('GenericWorkload');
  const facts = { endpoint: 'unix:///r', clientCaFile: '/ca', dns: '10.0.0.1' };
  expect(kubeletConfiguration({ ...facts, gates: ['A'] })).toMatchObject({ featureGates: { A: true } });
  expect(featureArguments({ gates: ['A', 'B'], apis: ['g/v1beta1', 'g/v1beta2'] })).toEqual({
    'kube-apiserver': ['--feature-gates=A=true,B=true', '--runtime-config=g/v1beta1=true,g/v1beta2=true'],
    'kube-controller-manager': ['--feature-gates=A=true,B=true'],
    'kube-scheduler': ['--feature-gates=A=true,B=true'],
  });
  const { cluster: defaults } = parseConformanceOptions([]);
  expect(Object.values(featureArguments(defaults))).toEqual([[], [], []]);
});

test("CoreDNS listens on the node's address, and kube-proxy uses iptables", () => {
  const text = corefile({ address: '10.0.0.1', kubeconfig: '/k', ready: '127.0.0.1:1' });
  expect(text).toMatch(/^cluster\.local:53 in-addr\.arpa:53 \{\n {4}bind 10\.0\.0\.1\n/);
  expect(text).toContain('kubeconfig /k\n');
});

test("progressOf counts passed and failed specs in ginkgo's output", () => {
  const log = `Will run 9 of 7000 specs\n•••\n------\n• [FAILED] [1.2 seconds]\n[sig-node] x\n------\nS•\n• [PANICKED] [0 seconds]\n`;
  expect(progressOf(log)).toEqual({ chosen: 9, passed: 4, failed: 2 });
  expect(progressOf('')).toEqual({ chosen: 0, passed: 0, failed: 0 });
});

test("the node suite's calls of systemd-run and systemctl are parsed, and a pattern selects unit names", () => {
  const words = ['-p', 'Delegate=true', '-p', 'StandardError=append:/o/kubelet.log', '--unit=kubelet-1.service'];
  const request = parseRun([
    ...words,
    '--slice=runtime.slice',
    '--remain-after-exit',
    '/b/kubelet',
    '--v',
    '4',
    '--x=$$a%%b',
  ]);
  expect(request).toEqual({
    unit: 'kubelet-1.service',
    log: '/o/kubelet.log',
    command: ['/b/kubelet', '--v', '4', '--x=$a%b'],
  });
  expect(() => parseRun(['--slice=x', 'true'])).toThrow('missing unit');
  expect(parseControl(['list-units', '*kubelet*', '--state=running'])).toMatchObject({
    verb: 'list-units',
    names: ['*kubelet*'],
    runningOnly: true,
  });
  expect(parseControl(['kill', '--signal=SIGKILL', 'kubelet-1'])).toMatchObject({ verb: 'kill', signal: 'SIGKILL' });
  expect(
    ['kubelet-1', 'kubelet-1.service', '*kubelet*', 'kubelet', 'kubelet.1'].map((name) =>
      matches('kubelet-1.service', name),
    ),
  ).toEqual([true, true, true, false, false]);
});
