import { readFileSync } from 'node:fs';
import { readMachineTopology } from '@node-agent/cm-resources';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, test } from 'vitest';
import { compareAnswers, digestOf } from '../src/resources/compare-answers.ts';
import { differingValues } from '../src/resources/differing-values.ts';
import { drawSequence } from '../src/resources/draw.ts';
import { purposeOf } from '../src/resources/on-purpose.ts';
import { parseResourceOptions } from '../src/resources/options.ts';
import { OurNode } from '../src/resources/our-node.ts';
import type { Recording } from '../src/resources/recording.ts';
import { sysFiles, type TopologyShape, topologies } from '../src/resources/topologies.ts';

async function machineOf(shape: TopologyShape) {
  const fs = new MemoryFileSystem();
  for (const [path, text] of sysFiles(shape)) {
    await fs.mkdir(`/${path.slice(0, path.lastIndexOf('/'))}`);
    await fs.writeFile(`/${path}`, text);
  }
  return await readMachineTopology(fs);
}

describe('options', () => {
  test('parseResourceOptions parses options and applies defaults', () => {
    expect(parseResourceOptions([])).toEqual({ sequences: 200, seed: 1, time: false, help: false, record: undefined });
    expect(parseResourceOptions(['--sequences', '5', '--seed', '0'])).toMatchObject({ sequences: 5, seed: 0 });
  });

  test.each([
    [['--sequences', '0'], '--sequences: must be an integer from 1 to 1000000, is "0"'],
    [['--seed', 'x'], '--seed: must be an integer from 0 to 4000000000, is "x"'],
  ])('parseResourceOptions rejects %j', (argv, message) => expect(() => parseResourceOptions(argv)).toThrow(message));
});

describe('comparison of answers', () => {
  const state = (...blocks: readonly object[]) => ({
    files: { memory_manager_state: JSON.stringify({ entries: { pod: { main: blocks } }, checksum: blocks.length }) },
  });
  const [memory, pages] = [{ type: 'memory' }, { type: 'hugepages-2Mi' }];

  test('state files that differ only in the order of the blocks of a container are equal for compareAnswers', () => {
    expect(compareAnswers(state(memory, pages), state(pages, memory))).toEqual([]);
  });

  test('state files with other blocks or another checksum differ', () => {
    expect(compareAnswers(state(memory), state(pages))).toHaveLength(1);
    const files = { memory_manager_state: JSON.stringify({ entries: { pod: { main: [memory] } }, checksum: 9 }) };
    expect(compareAnswers(state(memory), { files })).toHaveLength(1);
  });

  test('an absent value and an empty value are equal for compareAnswers, because Go omits empty values', () => {
    expect(compareAnswers({ admit: true }, { admit: true, affinity: {}, allocatableCPUs: [] })).toEqual([]);
    expect(compareAnswers({ admit: true }, { admit: false })).toEqual([
      { field: 'admit', upstream: true, ours: false },
    ]);
  });

  test('differingValues returns the path and both values of each difference of two files', () => {
    expect(differingValues('{"a":{"b":1},"c":2}', '{"a":{"b":3},"c":2}', 'file')).toEqual([
      'file.a.b: upstream 1, ours 3',
    ]);
    expect(differingValues('{"a":1}', undefined)).toHaveLength(1);
  });
});

test.each(topologies.map((shape) => [shape.name, shape] as const))(
  'readMachineTopology reads all NUMA nodes and online CPUs of the machine "%s" from its /sys files',
  async (_name, shape) => {
    const { nodes } = await machineOf(shape);
    expect(nodes.map(({ id }) => id)).toEqual(shape.nodes.map(({ id }) => id));
    const online = shape.cores.flatMap(({ cpus }) => cpus).filter((cpu) => !shape.offline.includes(cpu));
    expect(nodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)).toSorted((a, b) => a - b)).toEqual(
      online.toSorted((a, b) => a - b),
    );
    expect(nodes.every(({ distances }) => distances?.size === shape.nodes.length)).toBe(true);
  },
);

test('drawSequence returns equal sequences for equal seeds, and uses the topologies in turn', () => {
  expect(drawSequence(7)).toEqual(drawSequence(7));
  expect(drawSequence(7)).not.toEqual(drawSequence(8));
  expect(new Set([1, 2, 3, 4, 5, 6].map((seed) => drawSequence(seed).topology)).size).toBe(topologies.length);
});

// Upstream's answers (1.36.3), written by `npm run compare-resources -- --sequences 90 --seed 1 --record FILE`.
const recording = JSON.parse(readFileSync(new URL('resources-recording.json', import.meta.url), 'utf8')) as Recording;

test('cm-resources gives the same CPUs, memory, errors and state files as upstream in recorded sequences', async () => {
  const machines = new Map(
    await Promise.all(topologies.map(async (shape) => [shape.name, await machineOf(shape)] as const)),
  );
  for (const [seed, digests] of Object.entries(recording)) {
    const { topology, config, steps } = drawSequence(Number(seed));
    const node = new OurNode(machines.get(topology) ?? { nodes: [] }, config);
    for (const [at, digest] of digests.split(' ').entries()) {
      const step = steps[at - 1];
      const answer = step === undefined ? await node.start() : await node.apply(step);
      expect(digestOf(answer), `seed ${seed}, step ${at}: ${JSON.stringify(answer)}`).toBe(digest);
    }
  }
});

test('OurNode runs a drawn sequence and returns a description of the node after each step', async () => {
  const { config, steps } = drawSequence(1);
  const shape = topologies.find(({ name }) => name === drawSequence(1).topology) as TopologyShape;
  const node = new OurNode(await machineOf(shape), config);
  expect(await node.start()).toHaveProperty('files.cpu_manager_state');
  for (const step of steps) expect(await node.apply(step)).not.toHaveProperty('error');
});

test('purposeOf considers it an intended difference that upstream gives a reserved CPU to a container', () => {
  const step = drawSequence(1).steps.find(({ op }) => op === 'admit');
  if (step?.op !== 'admit') throw new Error('the sequence admits no pod');
  const sequence = { ...drawSequence(1), steps: [step] };
  const key = `${step.pod.metadata.uid}/${step.pod.spec.containers[0]?.name}`;
  const situation = (cpu: number) => ({
    ...{ sequence, at: 1, ours: [{}, {}] },
    upstream: [{}, { exclusive: { [key]: [cpu] }, allocatableCPUs: [1, 2] }],
  });
  expect(purposeOf(situation(0))).toMatch(/reserved CPUs/);
  expect(purposeOf(situation(1))).toBeUndefined();
});

test('purposeOf considers it an intended difference that upstream does not restrict containers if no CPU is shared', () => {
  const drawn = drawSequence(1);
  const situation = (strict: string, theirs: object) => ({
    sequence: { ...drawn, config: { ...drawn.config, cpuManagerPolicyOptions: { 'strict-cpu-reservation': strict } } },
    ...{
      at: 1,
      upstream: [{}, { affinity: { 'a/main': '' }, ...theirs }],
      ours: [{}, { affinity: { 'a/main': '0' } }],
    },
  });
  expect(purposeOf(situation('true', {}))).toMatch(/no CPU is shared/);
  expect(purposeOf(situation('false', {}))).toBeUndefined();
  expect(purposeOf(situation('true', { admit: true }))).toBeUndefined();
});

test('purposeOf considers it an intended difference that upstream allocates the freed memory of an init container again', () => {
  const pod = {
    metadata: { name: 'a', namespace: 'default', uid: 'a' },
    spec: { initContainers: [{ name: 'init', image: 'x' }], containers: [{ name: 'main', image: 'x' }] },
  };
  const admit = { op: 'admit' as const, pod, devices: {} };
  const answer = (bytes: number) => ({
    memory: { 'a/init': bytes === 0 ? [] : [{ nodes: [0], resource: 'memory', bytes }] },
  });
  const situation = (steps: readonly (typeof admit)[], theirs: number, own: number) => {
    const unanswered = steps.map(() => ({}));
    return {
      sequence: { ...drawSequence(1), steps },
      ...{ at: steps.length, upstream: [...unanswered, answer(theirs)], ours: [...unanswered, answer(own)] },
    };
  };
  expect(purposeOf(situation([admit, admit], 1024, 0))).toMatch(/freed it/);
  expect(purposeOf(situation([admit], 1024, 0))).toBeUndefined();
  expect(purposeOf(situation([admit, admit], 0, 1024))).toBeUndefined();
});

test('purposeOf considers other numbers of free physical CPUs an intended difference, but not another message', () => {
  const message = (count: string): string =>
    `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${count}`;
  const situation = (theirs: string, own: string) => ({
    ...{ sequence: { ...drawSequence(1), steps: [] }, at: 1 },
    ...{ upstream: [{}, { message: theirs }], ours: [{}, { message: own }] },
  });
  expect(purposeOf(situation(message('1'), message('0')))).toMatch(/split a core/);
  expect(purposeOf(situation(message('1'), 'other'))).toBeUndefined();
});

test('purposeOf considers it an intended difference that a rejected pod changes a group of upstream', () => {
  const answer = (cells: readonly number[], reserved: number, more: object) => ({
    ...{ admit: false, files: { memory_manager_state: JSON.stringify({ machineState: { 0: { cells, reserved } } }) } },
    ...more,
  });
  const situation = (cells: readonly number[], reserved: number, more: object = {}) => ({
    ...{ sequence: { ...drawSequence(1), steps: [] }, at: 1 },
    ...{ upstream: [{}, answer([0], 0, more)], ours: [{}, answer(cells, reserved, more)] },
  });
  expect(purposeOf(situation([0, 1], 8))).toMatch(/rejected/);
  expect(purposeOf(situation([0, 1], 8, { admit: true }))).toBeUndefined();
  expect(purposeOf(situation([0], 8))).toBeUndefined();
});
