import type { ContainerStatus, PodCondition, PodPhase, PodStatus } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { isReadinessStale } from '../src/index.ts';
import { makePod } from './builders.ts';

const GATE = 'example.com/up';
const container = (name: string, ready: boolean): ContainerStatus =>
  ({ name, ready, image: 'x', imageID: '', restartCount: 0 }) as ContainerStatus;
const MISSING = `corresponding condition of pod readiness gate "${GATE}" does not exist.`;
const shown = (status: string, message?: string): PodCondition =>
  ({ type: 'Ready', status, ...(message !== undefined && { message }) }) as PodCondition;
const gate = (status: string): PodCondition => ({ type: GATE, status }) as PodCondition;

test.each<[string, PodCondition[], boolean, boolean]>([
  ['the gate is missing, and that is told', [shown('False', MISSING)], true, false],
  ['it is there by now', [shown('False', MISSING), gate('True')], true, true],
  ['it is there, and not True', [shown('False', MISSING), gate('False')], true, true],
  ['all are ready, and that is told', [shown('True'), gate('True')], true, false],
  ['it is gone again', [shown('True')], true, true],
  ['an empty message is none', [shown('True', ''), gate('True')], true, false],
  ['a container is not ready by what is shown', [shown('True'), gate('True')], false, true],
  ['nothing is told yet', [gate('True')], true, false],
])('%s', (_what, conditions, ready, isStale) => {
  const status = { phase: 'Running' as PodPhase, conditions, containerStatuses: [container('main', ready)] };
  const pod = (spec: object) => ({ ...makePod(spec), status });
  expect(isReadinessStale(pod({ readinessGates: [{ conditionType: GATE }] }))).toBe(isStale);
  expect(isReadinessStale(pod({}))).toBe(false);
});

test('nothing is stale where nothing is shown', () => {
  expect(isReadinessStale(makePod({ readinessGates: [{ conditionType: GATE }] }))).toBe(false);
});

test('a pod of no phase is shown by its containers', () => {
  const pod = makePod({ readinessGates: [{ conditionType: GATE }] });
  const isStale = (status: string): boolean => {
    const conditions = [shown(status), gate('True')];
    return isReadinessStale({
      ...pod,
      status: { conditions, containerStatuses: [container('main', true)] } as PodStatus,
    });
  };
  expect([isStale('True'), isStale('False')]).toEqual([false, true]);
});

test('sidecars count, too, and other init containers do not', () => {
  const initContainers = [
    { name: 'once', image: 'x' },
    { name: 'beside', image: 'x', restartPolicy: 'Always' },
  ];
  const pod = makePod({ readinessGates: [{ conditionType: GATE }], initContainers });
  const status = (beside: boolean) => ({
    phase: 'Running' as PodPhase,
    conditions: [shown('True'), gate('True')],
    containerStatuses: [container('main', true)],
    initContainerStatuses: [container('once', false), container('beside', beside)],
  });
  expect(isReadinessStale({ ...pod, status: status(true) })).toBe(false);
  expect(isReadinessStale({ ...pod, status: status(false) })).toBe(true);
});
