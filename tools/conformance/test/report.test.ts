import { expect, test } from 'vitest';
import { namespaceOf } from '../src/evidence.ts';
import { counts, page } from '../src/page.ts';
import { readReport, regressions, type SuiteResult } from '../src/specs.ts';

const spec = (text: string, State: string, more: object = {}): object => ({
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
const report = (...specs: readonly object[]): SuiteResult =>
  readReport(JSON.stringify([{ SuiteSucceeded: false, RunTime: 61e9, SpecReports: specs }]));

test('a report is read: what was chosen, how it went, and in what words', () => {
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

test('a set-up of the suite that failed is a problem beside the specs', () => {
  const setUp = { ...spec('', 'failed', failure('no nodes')), LeafNodeType: 'SynchronizedBeforeSuite' };
  expect(report(setUp)).toMatchObject({ specs: [], problems: ['SynchronizedBeforeSuite : no nodes'] });
  expect(() => readReport('[]')).toThrow(TypeError);
});

test('what passes with one kubelet and not with the other is told', () => {
  const theirs = report(spec('a', 'passed'), spec('b', 'failed'), spec('c', 'passed'));
  const ours = report(spec('a', 'failed'), spec('b', 'failed'), spec('c', 'passed'), spec('d', 'failed'));
  expect(regressions(theirs, ours).map(({ name }) => name)).toEqual(['[sig-node] Pods a']);
});

test("the namespace of a spec is found in what it logged, as the suite's own words have it", () => {
  expect(namespaceOf('STEP: Collecting events from namespace "pods-4711". @ 1')).toBe('pods-4711');
  expect(namespaceOf('Found DeleteNamespace=false, skipping namespace deletion!')).toBeUndefined();
});

const facts = {
  ...{ date: '2026-01-02 03:04', commit: 'abc', kubernetes: '1.36.3', containerd: '2.4.2', machine: '2 cores' },
  ...{ labels: 'NodeConformance', focus: [], skip: ['long'], processes: 12 },
};

test('a page has a table of runs, the words of what failed, and why specs were skipped', () => {
  const theirs = { kubelet: 'Go kubelet', result: report(spec('fails', 'passed')), evidence: [] };
  const result = report(spec('fails', 'failed', failure('a ``` b')), spec('s', 'skipped', failure('a | b')));
  const name = '[sig-node] Pods fails';
  const evidence = [{ spec: name, namespace: 'pods-1', pods: [], events: ['Warning x'], log: ['line'] }];
  const ours = { kubelet: 'node-agent', result, evidence };
  expect(counts(result)).toEqual({ passed: 0, failed: 1, skipped: 1, 'not run': 0 });
  const brief = page(facts, [theirs, ours], false);
  expect(brief).toContain('| node-agent | 0 | 1 | 1 | 0 | 61 s |');
  expect(brief).toContain('Go kubelet: passed.');
  expect(brief).toContain('````\na ``` b\n````');
  expect(brief).toContain('| [sig-node] Pods s | a \\| b |');
  expect(brief).not.toContain('Warning x');
  const detailed = page(facts, [theirs, ours], true);
  expect(detailed).toContain('Events:\n\n```\nWarning x\n```');
  expect(detailed).toContain('```\nline\n```');
});
