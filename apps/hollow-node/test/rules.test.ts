import { BEHAVIOUR_ANNOTATION, type ScriptedContainer } from '@node-agent/fake-cri';
import { expect, test } from 'vitest';
import { type MachineFigures, machineTexts } from '../src/machine-texts.ts';
import { nodeCidr, planNodes } from '../src/node-plan.ts';
import { parseProfile } from '../src/profile.ts';

const SETTINGS = { nodes: 2, first: 3, namePrefix: 'n-', port: 20_000, podCidr: '10.128.0.0/9', maxPods: 110 };

test("planNodes derives name, port, phase and pod range from a node's index only", () => {
  expect(planNodes(SETTINGS)).toEqual([
    { name: 'n-3', port: 20_003, phaseMs: 150, podCidr: '10.128.3.0/24' },
    { name: 'n-4', port: 20_004, phaseMs: 200, podCidr: '10.128.4.0/24' },
  ]);
  expect(planNodes({ ...SETTINGS, port: 0 })[0]?.port).toBeUndefined();
});

test('the periodic work of 1000 nodes is spread evenly over a second and over five seconds, in steps of 50 ms', () => {
  const phases = planNodes({ ...SETTINGS, nodes: 1000 }).map(({ phaseMs }) => phaseMs);
  const counts = (periodMs: number): readonly number[] =>
    [...Map.groupBy(phases, (phaseMs) => phaseMs % periodMs).values()].map(({ length }) => length);
  expect(counts(1000)).toEqual(Array.from({ length: 20 }, () => 50));
  expect(counts(5000)).toEqual(Array.from({ length: 100 }, () => 10));
});

test('planNodes rejects ports beyond 65535', () => {
  expect(() => planNodes({ ...SETTINGS, port: 65_000, nodes: 1000 })).toThrow(
    '--port: ports 65003 to 66002 of 1000 nodes must not exceed 65535',
  );
});

test.each([
  ['10.128.0.0/9', 1000, 110, '10.131.232.0/24'],
  ['10.128.0.0/9', 0, 250, '10.128.0.0/23'],
  ['192.168.77.5/16', 1, 10, '192.168.0.32/27'],
])('nodeCidr of the range %s for node %i with %i pods returns %s', (cidr, index, maxPods, expected) => {
  expect(nodeCidr(cidr, index, maxPods)).toBe(expected);
});

test.each([
  ['10.0.0.0/24', 1, '--pod-cidr: 10.0.0.0/24 must have 256 addresses for each node; it has none for node 1'],
  ['10.0.0.0', 0, '--pod-cidr: "10.0.0.0" must be an IPv4 range such as 10.128.0.0/9'],
  ['10.0.0.256/8', 0, '--pod-cidr: "10.0.0.256/8" must be an IPv4 range such as 10.128.0.0/9'],
])('nodeCidr rejects the range %s for node %i', (cidr, index, message) => {
  expect(() => nodeCidr(cidr, index, 110)).toThrow(message);
});

test("machineTexts generates kernel files with the machine's CPUs, memory and usage", () => {
  const figures: MachineFigures = {
    ...{ cpus: 2, memoryBytes: 4096 * 1024, usedBytes: 1024 * 1024, cpuNs: 5_000_000, bootedAtMs: 7000 },
  };
  expect(machineTexts['/proc/stat']?.(figures)).toBe('cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nbtime 7\n');
  expect(machineTexts['/proc/meminfo']?.(figures)).toContain('MemTotal: 4096 kB\nMemFree: 3072 kB\n');
  expect(machineTexts['/sys/fs/cgroup/cpu.stat']?.(figures)).toContain('usage_usec 5000\n');
});

function container(name: string, image: string, annotations: Readonly<Record<string, string>> = {}): ScriptedContainer {
  const sandboxConfig = { metadata: { namespace: 'shop', name: 'web-1', uid: 'u', attempt: 0 }, annotations };
  return { id: 'c', name, image, attempt: 0, command: [], config: { annotations: {} }, sandboxConfig } as never;
}

const PROFILE = `
rules:
  - match: { namespace: shop, pod: 'web-*', image: '*nginx*' }
    cpu: 50m
    memory: 64Mi
    behaviour: { startDelayMs: 500, output: [{ text: "ready\\n" }] }
  - behaviour: { exitAfterMs: 100, exitCode: 2 }
`;

test("the first matching rule of a profile determines a container's behaviour and usage", () => {
  const script = parseProfile(PROFILE, 'p.yaml');
  expect(script(container('main', 'registry/nginx:1'))).toEqual({
    ...{ startDelayMs: 500, output: [{ text: 'ready\n' }] },
    usage: { cpuNanoCores: 50_000_000, memoryBytes: 64 * 2 ** 20 },
  });
  expect(script(container('main', 'registry/job:1'))).toEqual({ exitAfterMs: 100, exitCode: 2 });
});

test('the behaviour annotation of a pod takes precedence over the profile', () => {
  const script = parseProfile(PROFILE, 'p.yaml');
  expect(script(container('main', 'nginx', { [BEHAVIOUR_ANNOTATION]: '{}' }))).toBeUndefined();
});

test.each([
  ['a: [', 'p.yaml: must be YAML'],
  ['[]', 'p.yaml: profile: must be an object'],
  ['rules: {}', 'p.yaml: rules: must be an array'],
  ['rules: [{ cpu: -1 }]', 'p.yaml: rules[0].cpu: must be a quantity that is not negative, such as 50m or 64Mi'],
  ['rules: [{ match: { node: a } }]', 'p.yaml: rules[0].match.node: unknown field'],
  ['rules: [{ behaviour: { exitCode: a } }]', 'p.yaml: rules[0].behaviour: exitCode: must be a non-negative integer'],
  ['rules: [{ colour: red }]', 'p.yaml: rules[0].colour: unknown field'],
])('parseProfile rejects %j with an error that names the file and the field', (text, message) => {
  expect(() => parseProfile(text, 'p.yaml')).toThrow(message);
});
