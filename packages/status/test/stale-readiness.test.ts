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
  ['the gate is missing, as the status says', [shown('False', MISSING)], true, false],
  ['the missing gate was added', [shown('False', MISSING), gate('True')], true, true],
  ['the missing gate was added and is not True', [shown('False', MISSING), gate('False')], true, true],
  ['all is ready, as the status says', [shown('True'), gate('True')], true, false],
  ['the gate was removed', [shown('True')], true, true],
  ['the message is empty', [shown('True', ''), gate('True')], true, false],
  ['a container is not ready, but the status says Ready', [shown('True'), gate('True')], false, true],
  ['the status has no Ready condition', [gate('True')], true, false],
])("the readiness in a pod's status is outdated if %s: $3", (_what, conditions, ready, isStale) => {
  const status = { phase: 'Running' as PodPhase, conditions, containerStatuses: [container('main', ready)] };
  const pod = (spec: object) => ({ ...makePod(spec), status });
  expect(isReadinessStale(pod({ readinessGates: [{ conditionType: GATE }] }))).toBe(isStale);
  expect(isReadinessStale(pod({}))).toBe(false);
});

test('the readiness of a pod without a status is not outdated', () => {
  expect(isReadinessStale(makePod({ readinessGates: [{ conditionType: GATE }] }))).toBe(false);
});

test('the readiness of a pod without a phase is compared with its containers', () => {
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

test('the readiness comparison includes sidecars, and no other init containers', () => {
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
