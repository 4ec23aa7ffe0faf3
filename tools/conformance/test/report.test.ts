import { expect, test } from 'vitest';
import { parseData, withPart } from '../src/document.ts';
import { namespaceOf } from '../src/evidence.ts';
import { page } from '../src/page.ts';
import { readReport, type SuiteResult } from '../src/specs.ts';
import {
  counts,
  inARow,
  type PageFacts,
  type Run,
  type Runs,
  regressions,
  runOf,
  summary,
  usualSeconds,
} from '../src/summary.ts';
import { countsIo, unfitReason } from '../src/unfit.ts';

const LACKING = { dummyLinks: false, groupPressure: false, groupIo: false, sparesProcesses: false, systemd: false };
const ABLE = { dummyLinks: true, groupPressure: true, groupIo: true, sparesProcesses: true, systemd: true };

const spec = (text: string, State: string, more: object = {}) => ({
  ContainerHierarchyTexts: ['[sig-node] Pods'],
  ContainerHierarchyLabels: [['sig-node']],
  LeafNodeType: 'It',
  LeafNodeText: text,
  LeafNodeLabels: ['NodeConformance'],
  State,
  RunTime: 2_500_000_000,
  ...more,
});
const failure = (Message: string): object => ({
  Failure: { Message, Location: { FileName: 'k8s.io/kubernetes/test/e2e/common/node/pods.go', LineNumber: 12 } },
});
const report = (...specs: readonly { readonly State: string }[]): SuiteResult => {
  const SuiteSucceeded = specs.every(({ State }) => ['passed', 'skipped', 'pending'].includes(State));
  return readReport(JSON.stringify([{ SuiteSucceeded, RunTime: 61e9, SpecReports: specs }]));
};

test('readReport returns the selected specs with state, message, location and duration', () => {
  const { specs, problems, seconds } = report(
    spec('runs', 'passed'),
    spec('fails', 'failed', failure('it did not')),
    spec('panics', 'panicked', failure('nil map')),
    spec('is interrupted', 'interrupted'),
    spec('skips itself', 'skipped', failure('no such device')),
    spec('was not chosen', 'skipped'),
    spec('is pending', 'pending'),
  );
  expect(specs.map(({ name, state }) => [name.replace('[sig-node] Pods ', ''), state])).toEqual([
    ['runs', 'passed'],
    ['fails', 'failed'],
    ['panics', 'failed'],
    ['is interrupted', 'failed'],
    ['skips itself', 'skipped'],
    ['is pending', 'not run'],
  ]);
  expect(specs[1]).toMatchObject({
    labels: ['sig-node', 'NodeConformance'],
    message: 'it did not',
    location: 'test/e2e/common/node/pods.go:12',
    seconds: 2.5,
  });
  expect([problems, seconds]).toEqual([[], 61]);
});

test('reports a failed set-up of the suite as a problem outside the specs', () => {
  const setUp = { ...spec('', 'failed', failure('no nodes')), LeafNodeType: 'SynchronizedBeforeSuite' };
  expect(report(setUp)).toMatchObject({ specs: [], problems: ['SynchronizedBeforeSuite : no nodes'] });
  expect(() => readReport('[]')).toThrow('ginkgo.log');
});

test('reports a problem if the suite failed without a failed spec', () => {
  const result = (...SpecReports: readonly object[]): SuiteResult =>
    readReport(JSON.stringify([{ SuiteSucceeded: false, RunTime: 61e9, SpecReports }]));
  expect(result(spec('runs', 'passed')).problems).toEqual(['suite failed without a failed spec']);
  expect(result(spec('fails', 'failed')).problems).toEqual([]);
});

test('reports a problem if no spec was run', () => {
  expect(report()).toMatchObject({ specs: [], problems: ['no spec was run'] });
  expect(report(spec('was not chosen', 'skipped'))).toMatchObject({ specs: [], problems: ['no spec was run'] });
});

test("namespaceOf finds a spec's namespace in its log", () => {
  expect(namespaceOf('STEP: Collecting events from namespace "pods-4711". @ 1')).toBe('pods-4711');
  expect(namespaceOf('Found DeleteNamespace=false, skipping namespace deletion!')).toBeUndefined();
});

const facts: PageFacts = {
  ...{ title: 'Specs', date: '2026-01-02 03:04', commit: 'abc', kubernetes: '1.36.3', containerd: '2.4.2' },
  ...{ suite: 'e2e', labels: 'NodeConformance', focus: [], skip: ['long'], processes: 12 },
  cluster: { gates: [], apis: [] },
  ...{ machine: '2 cores', has: LACKING },
};
const run = (result: SuiteResult, kubelet = 'node-agent'): Run => ({ kubelet, result, evidence: [] });
const pageOf = (runs: Runs, detailed = false): string => page(facts, runs, summary(facts, runs), detailed);

test('regressions are the specs that pass only with the compared kubelet', () => {
  const theirs = run(report(spec('a', 'passed'), spec('b', 'failed'), spec('c', 'passed')), 'Go kubelet');
  const ours = report(spec('a', 'failed'), spec('b', 'failed'), spec('c', 'passed'));
  const { compared } = summary(facts, { ours: [run(ours)], compared: theirs });
  expect(compared && regressions(compared, ours).map(({ name }) => name)).toEqual(['[sig-node] Pods a']);
});

test('the report names the features that are off by default', () => {
  const runs = { ours: [run(report(spec('a', 'passed')))] };
  expect(pageOf(runs)).not.toContain('off by default');
  const text = page({ ...facts, cluster: { gates: ['A', 'B'], apis: ['g/v1'] } }, runs, summary(facts, runs), false);
  expect(text).toContain('- feature gates that are off by default: `A`, `B`\n');
  expect(text).toContain('- API versions that are off by default: `g/v1`\n');
});

test('the report contains a table of runs, failure messages and reasons for skips', () => {
  const theirs = run(report(spec('fails', 'passed')), 'Go kubelet');
  const result = report(spec('fails', 'failed', failure('a ``` b')), spec('s', 'skipped', failure('a | b')));
  const name = '[sig-node] Pods fails';
  const evidence = [{ spec: name, namespace: 'pods-1', pods: [], events: ['Warning x'], log: ['line'] }];
  const runs = { compared: theirs, ours: [{ ...run(result), evidence }] };
  expect(counts(result, facts.has)).toEqual({ passed: 0, failed: 1, impossible: 0, skipped: 1, 'not run': 0 });
  const brief = pageOf(runs);
  expect(brief).toContain('| node-agent | 2026-01-02 03:04 | abc | 0 | 1 | 0 | 1 | 0 | 61 s |');
  expect(brief).toContain('Go kubelet: passed.');
  expect(brief).toContain('````\na ``` b\n````');
  expect(brief).toContain('| [sig-node] Pods s | a \\| b |');
  expect(brief).not.toContain('Warning x');
  const detailed = pageOf(runs, true);
  expect(detailed).toContain('Events:\n\n```\nWarning x\n```');
  expect(detailed).toContain('```\nline\n```');
});

test('the report mentions consecutive runs only if none of them failed', () => {
  const good = run(report(spec('a', 'passed')));
  const bad = run(report(spec('a', 'failed', failure('no'))));
  const empty = run(report());
  const half = run(report(spec('a', 'passed'), spec('b', 'pending')));
  const setUp = { ...spec('', 'failed', failure('no nodes')), LeafNodeType: 'SynchronizedAfterSuite' };
  const broken = run(report(spec('a', 'passed'), setUp));
  const row = (...ours: readonly Run[]) => inARow(summary(facts, { ours }));
  expect(row(good, good, good)).toBe(3);
  expect(row(good, bad, good)).toBe(1);
  for (const other of [bad, empty, half, broken]) expect(row(good, other)).toBe(0);
  expect(pageOf({ ours: [good, good] })).toContain('- 2 runs in a row without a failure');
  for (const ours of [[good], [bad, good], [good, bad]]) {
    expect(pageOf({ ours })).not.toContain('in a row');
  }
});

test('a kubelet that exits during a run is a problem, even if all specs passed', () => {
  const result = report(spec('a', 'passed'));
  const evidence = [{ spec: 'a', namespace: 'pods-1', pods: [], events: [], log: [] }];
  expect(runOf('node-agent', result, { evidence })).toEqual({ kubelet: 'node-agent', result, evidence });
  const exited = runOf('node-agent', result, { kubeletEnded: 'exited with SIGKILL', evidence });
  expect(exited.result.problems).toEqual(['kubelet exited unexpectedly: exited with SIGKILL']);
  expect(inARow(summary(facts, { ours: [exited] }))).toBe(0);
  expect(pageOf({ ours: [exited] })).toContain(
    '### Problems outside the specs: node-agent\n\n- kubelet exited unexpectedly',
  );
});

test('continues earlier runs and their comparison if the number of specs is unchanged', () => {
  const text = 'PrivilegedPod should enable privileged commands';
  const good = run(report(spec(text, 'passed')));
  const bad = run(report(spec(text, 'failed', failure('ip link'))));
  const before = summary(facts, { ours: [good], compared: { ...good, kubelet: 'Go kubelet' } });
  const now = { ...facts, date: '2026-02-03 04:05', commit: 'def' };
  const continued = summary(now, { ours: [good] }, before);
  expect(continued.turns.map(({ commit }) => commit)).toEqual(['abc', 'def']);
  expect(continued.compared).toEqual(before.compared);
  const text2 = page(now, { ours: [good] }, continued, false);
  expect(text2).toContain('- 2 runs in a row without a failure\n- 1.00 of the wall time of the Go kubelet');
  expect(text2).toContain('| node-agent | 2026-01-02 03:04 | abc | 1 |');
  expect(text2).toContain('| node-agent | 2026-02-03 04:05 | def | 1 |');
  const slow = { ...good, result: { ...good.result, seconds: 5 * good.result.seconds } };
  const recompared = summary(now, { ours: [slow], compared: { ...slow, kubelet: 'Go kubelet' } }, before);
  expect([recompared.turns.length, usualSeconds(recompared)]).toEqual([2, slow.result.seconds]);
  const failed = summary(now, { ours: [bad] }, before);
  expect([inARow(failed), failed.turns.at(-1)?.counts.failed]).toEqual([0, 1]);
  expect(page(now, { ours: [bad] }, failed, false)).toContain('### Failed: node-agent');
  const others = summary(now, { ours: [run(report(spec('a', 'passed'), spec('b', 'passed')))] }, before);
  expect([others.turns.length, others.compared]).toEqual([1, undefined]);
});

test('the report says which failures are deliberate differences of this kubelet', () => {
  const name =
    'Device Plugin Does not keep device plugin assignments across node reboots if fails admission (no pod restart)';
  const bad = run(report(spec(name, 'failed', failure('Running')), spec('other', 'failed', failure('x'))));
  const text = page(facts, { ours: [bad] }, summary(facts, { ours: [bad] }), false);
  expect(text.match(/A deliberate difference/g)).toHaveLength(1);
  expect(text).toContain(
    'A deliberate difference (docs/differences.md): after a reboot, a pod waits for its device plugin',
  );
});

test("the report compares the median wall time with the compared kubelet's", () => {
  const taking = (seconds: number, kubelet?: string) => run({ ...report(spec('a', 'passed')), seconds }, kubelet);
  const runs = { ours: [taking(90), taking(500), taking(99)], compared: taking(110, 'Go kubelet') };
  expect(usualSeconds(summary(facts, runs))).toBe(99);
  expect(pageOf(runs)).toContain('- 0.90 of the wall time of the Go kubelet (99 s and 110 s)');
  expect(usualSeconds(summary(facts, { ours: [taking(1), taking(4)] }))).toBe(3);
});

test('a spec that no kubelet passes on the machine is not a failure, unless the compared kubelet passed it', () => {
  const text = 'PrivilegedPod should enable privileged commands';
  const fails = run(report(spec(text, 'failed', failure('ip link'))));
  const passes = run(report(spec(text, 'passed')), 'Go kubelet');
  const failsToo = { ...fails, kubelet: 'Go kubelet' };
  expect(counts(fails.result, LACKING)).toMatchObject({ failed: 0, impossible: 1 });
  expect(counts(fails.result, ABLE)).toMatchObject({ failed: 1, impossible: 0 });
  const beside = (compared: Run) => summary(facts, { ours: [fails], compared }).turns[0]?.counts;
  expect(beside(passes)).toMatchObject({ failed: 1, impossible: 0 });
  expect(beside(failsToo)).toMatchObject({ failed: 0, impossible: 1 });
  const text2 = pageOf({ ours: [fails, fails], compared: failsToo });
  expect(text2).toContain(
    '| [sig-node] Pods PrivilegedPod should enable privileged commands | the kernel does not support `dummy` links | failed |',
  );
  expect(text2).toContain('2 runs in a row without a failure');
  expect(text2).not.toContain('### Failed');
});

test('rules excuse only the specs that they name', () => {
  const machine = ABLE;
  const excused = [
    '[sig-node] ImageGarbageCollect [Serial] [NodeConformance] when ImageMaximumGCAge is set should GC unused images',
    '[sig-node] ImageGCNoEviction [Slow] [Serial] [Disruptive] [Feature:Eviction] when we run containers',
  ];
  for (const name of excused) expect(unfitReason({ name }, machine), name).toContain('digest');
  for (const name of ['[sig-node] GarbageCollect [Serial] Garbage Collection Test', '[sig-node] InodeEviction', '']) {
    expect(unfitReason({ name }, machine), name).toBeUndefined();
  }
});

test('the alignment spec of the topology manager is impossible on every machine, and its other specs are not', () => {
  const spec = (name: string) => unfitReason({ name: `Topology Manager Metrics when querying /metrics ${name}` }, ABLE);
  expect(spec('[alignment] should return updated alignment counters when pod successfully run')).toContain('static');
  expect(spec('should report zero admission counters after a fresh restart')).toBeUndefined();
});

test('withPart replaces the section of one selection of specs, and keeps the order of the sections', () => {
  const passes = run(report(spec('a', 'passed')));
  const one = summary(facts, { ours: [passes] });
  const slower = run({ ...passes.result, seconds: 122 }, 'Go kubelet');
  const other = { ...summary(facts, { ours: [passes], compared: slower }), title: 'Others' };
  const network = withPart({ page: 'something else', data: '' }, 'network', other, '## Others\n\n- x -->\n');
  expect(network.page).not.toContain('something else');
  const both = withPart(network, 'node-conformance', one, '## Specs\n');
  expect(both.page.indexOf('## Specs')).toBeLessThan(both.page.indexOf('## Others'));
  expect(both.page).toContain('| Others | abc | 1 | 1 | 0 | 0 | 0 | 1 of 1 | 61 s | 1, 122 s | 0.50 |');
  expect(both.page).toContain('| Specs | abc | 1 | 1 | 0 | 0 | 0 | 1 of 1 | 61 s | not run |  |');
  expect(Object.keys(parseData(both.data))).toEqual(['node-conformance', 'network']);
  const later = summary({ ...facts, commit: 'def' }, { ours: [passes] });
  const again = withPart(both, 'network', later, '## Newer\n');
  expect(again.page).toContain('## Newer');
  expect(again.page).not.toContain('- x');
  expect(again.page).toContain('## Specs');
  expect(parseData(again.data).network).toEqual(later);
});

test.each([
  [
    'Summary API [NodeConformance] when querying /stats/summary should report resource usage through the stats api',
    'pressure',
  ],
  [
    'ContainerMetrics [LinuxOnly] [NodeConformance] when querying /metrics/cadvisor should report container metrics',
    'I/O',
  ],
  [
    'MirrorPodWithGracePeriod when create a mirror pod and the container runtime is temporarily down during pod termination [Serial] the mirror pod should terminate successfully',
    'systemd',
  ],
  [
    'PLR Pod InPlace Resize [Beta] PLR guaranteed qos - 1 container with resize policy cpu & mem restart + resize initContainers resizing mem',
    'oom_score_adj',
  ],
])('the spec %s counts as impossible on a machine without %s', (name, words) => {
  expect(unfitReason({ name }, LACKING)).toContain(words);
  expect(unfitReason({ name }, ABLE)).toBeUndefined();
});

test.each([
  ['cpuset cpu io memory\n', undefined, true],
  ['cpuset cpu memory\n', undefined, false],
  [undefined, '253:0 Read 12\nTotal 12\n', true],
  [undefined, 'Total 0\n', false],
  [undefined, undefined, false],
])('I/O per cgroup is counted with the v2 controllers %j or the v1 statistics %j: %s', (v2, v1, counts) => {
  expect(countsIo(v2, v1)).toBe(counts);
});
