import type { Container, Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { oneLine, withoutRepeats } from '../src/explain/one-line.ts';
import { type CauseContext, nothingNext, podCauses, probeOutput } from '../src/explain/pod-cause.ts';
import type { PodStep } from '../src/explain/pod-journal.ts';
import { makePod } from './fakes.ts';

const T = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(T + seconds * 1_000).toISOString().replace('.000Z', 'Z');
type Status = NonNullable<Pod['status']>;
type ContainerStatus = NonNullable<Status['containerStatuses']>[number];

const causes = (pod: Pod, context: Partial<CauseContext> = {}) =>
  podCauses(pod, { nowMs: T + 60_000, steps: [], worker: undefined, waits: [], ...context });
const retry = (seconds: number) => ({ activity: { kind: 'backingOff', untilMs: T + 60_000 + seconds * 1_000 } });
const ended = (exitCode: number, more: object = {}) => ({
  terminated: { exitCode, startedAt: at(20), finishedAt: at(40), reason: 'Error', ...more },
});
const status = (more: Partial<ContainerStatus>): ContainerStatus => ({
  ...{ name: 'c', ready: false, restartCount: 0, image: '', imageID: '', ...more },
});
const podOf = (container: Partial<ContainerStatus>, spec: Partial<Container> = {}, more: Partial<Status> = {}): Pod =>
  makePod('a', {
    spec: { containers: [{ name: 'c', ...spec }] },
    status: { phase: 'Running', containerStatuses: [status(container)], ...more },
  });
const crashing = (last: NonNullable<ContainerStatus['lastState']>, restartCount = 2): Partial<ContainerStatus> => ({
  ...{ restartCount, lastState: last },
  state: {
    waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=c pod=a_default' },
  },
});
const limit = { resources: { limits: { memory: '20Mi' } } };
const liveness = { livenessProbe: { httpGet: { port: 80 }, failureThreshold: 2 } };
const record = (seconds: number, result: string, output = 'HTTP probe failed with statuscode: 500') => ({
  ...{ atMs: T + seconds * 1_000, result, output },
});
const probes = (kind: string, ...last: object[]) => [{ container: 'c', kind, last }];
const noted: PodStep = {
  ...{ step: 'Probe', target: 'liveness of c', outcome: 'failed', startedAtMs: T + 35_000, endedAtMs: T + 35_000 },
};
const image =
  'failed to pull and unpack image "registry.example/shop/web:2": failed to resolve reference: dial tcp 192.0.2.1:443: connect: connection refused';

describe('the cause in the first line of an explanation', () => {
  it.each<[string, Pod, Partial<CauseContext>, readonly string[]]>([
    [
      'a container above its memory limit',
      podOf(crashing(ended(137, { reason: 'OOMKilled' })), limit),
      { worker: retry(5) },
      ['c: OOMKilled (exit 137), memory limit 20Mi, 2 restarts; next restart in 5 s'],
    ],
    [
      'a container without a limit that the kernel killed',
      podOf(crashing(ended(137, { reason: 'OOMKilled' }), 1)),
      {},
      ['c: OOMKilled (exit 137), no memory limit of its own, 1 restart'],
    ],
    [
      'a container that its liveness probe killed, from the probe results',
      podOf(crashing(ended(137), 1), liveness),
      { probes: probes('liveness', record(25, 'success'), record(30, 'failure'), record(35, 'failure')) },
      ['c: killed by liveness probe (HTTP 500, 2 of 2 failures), 1 restart'],
    ],
    [
      'a container that its liveness probe killed, from the recorded steps',
      podOf(crashing(ended(137), 1), liveness),
      { steps: [noted], worker: retry(0) },
      ['c: killed by liveness probe (2 of 2 failures), 1 restart; next restart now'],
    ],
    [
      'a container that its startup probe killed',
      podOf(crashing(ended(143), 1), { startupProbe: { exec: { command: ['x'] }, failureThreshold: 1 } }),
      { probes: probes('startup', record(30, 'failure', 'not\nyet')) },
      ['c: killed by startup probe (not yet, 1 of 1 failures), 1 restart'],
    ],
    [
      'a container that exited after its probe had succeeded again',
      podOf(crashing(ended(1), 1), liveness),
      { probes: probes('liveness', record(25, 'failure'), record(30, 'failure'), record(35, 'success')) },
      ['c: exit code 1, 1 restart'],
    ],
    [
      'a container whose probe failed before its last restart',
      podOf(crashing(ended(137), 1), liveness),
      {
        probes: probes('liveness', record(10, 'failure'), record(15, 'failure')),
        steps: [{ ...noted, startedAtMs: T }],
      },
      ['c: exit code 137 (SIGKILL), 1 restart'],
    ],
    [
      'a container that exits, with its termination message',
      podOf(crashing(ended(7, { message: 'no such database\n' }))),
      { worker: retry(140) },
      ['c: exit code 7: no such database, 2 restarts; next restart in 2 min'],
    ],
    [
      'a container whose command does not exist',
      podOf(crashing(ended(128, { reason: 'StartError', message: 'exec: "nosuch": not found' }), 1)),
      {},
      ['c: StartError (exit 128): exec: "nosuch": not found, 1 restart'],
    ],
    [
      'an image that cannot be pulled',
      podOf({ state: { waiting: { reason: 'ImagePullBackOff', message: image } } }),
      { worker: retry(6), waits: [{ what: `container c: ImagePullBackOff: ${image}` }] },
      [`c: ImagePullBackOff: ${image}; next try in 6 s`],
    ],
    [
      "an image in pull back-off, without the back-off's own text",
      podOf({
        state: {
          waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "x:2": ErrImagePull: ${image}` },
        },
      }),
      {},
      [`c: ImagePullBackOff: ${image}`],
    ],
    [
      'an image pull without a known error',
      podOf({ state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x:2"' } } }),
      {},
      ['c: ImagePullBackOff: Back-off pulling image "x:2"'],
    ],
    [
      'a container that cannot be created',
      podOf({ state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } } }),
      {},
      ['c: CreateContainerConfigError: secret "x" not found'],
    ],
    [
      'a container that exited and will be restarted',
      podOf({ state: ended(1) }),
      { worker: retry(10) },
      ['c: exit code 1; next restart in 10 s'],
    ],
    [
      'a container that restarted a short time ago',
      podOf({ ready: true, restartCount: 1, lastState: ended(1), state: { running: { startedAt: at(57) } } }),
      {},
      ['c: running again for 3 s after exit code 1, 1 restart'],
    ],
    [
      'a container that is not ready, with the last probe output',
      podOf({ state: { running: { startedAt: at(4) } } }, { readinessProbe: { httpGet: { port: 80 } } }),
      { probes: probes('readiness', record(50, 'failure', 'HTTP probe failed with statuscode: 503')) },
      ['c: not ready: readiness probe failed (HTTP 503)'],
    ],
    [
      'a container whose startup probe has not succeeded',
      podOf({ started: false, state: { running: { startedAt: at(4) } } }, { startupProbe: { httpGet: { port: 80 } } }),
      {},
      ['c: startup probe has not succeeded'],
    ],
    [
      'a failed volume, listed before the containers that wait for it',
      podOf({ state: { waiting: { reason: 'ContainerCreating' } } }),
      {
        waits: [
          { what: 'container c: ContainerCreating' },
          { what: 'volumes: secret "x" not found', untilMs: T + 64_000 },
        ],
      },
      ['volumes: secret "x" not found; next try in 4 s'],
    ],
    [
      'a failed container, listed before a pending status update',
      podOf(crashing(ended(1), 1)),
      { waits: [{ what: 'status: the API server has not confirmed the status yet' }] },
      ['c: exit code 1, 1 restart', 'status: the API server has not confirmed the status yet'],
    ],
    [
      'an evicted pod',
      podOf({ state: ended(137) }, {}, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on\nmemory.' }),
      {},
      ['Evicted: The node was low on memory.'],
    ],
    [
      'a failed pod with a failed container',
      makePod('a', {
        spec: { restartPolicy: 'Never', containers: [{ name: 'c' }] },
        status: { phase: 'Failed', containerStatuses: [status({ state: ended(7) })] },
      }),
      {},
      ['c: exit code 7; not restarted (restartPolicy Never)'],
    ],
    [
      'a failed pod without container statuses',
      podOf({}, {}, { phase: 'Failed', containerStatuses: [] }),
      {},
      ['Failed, and no container reports why'],
    ],
  ])('explains the cause for %s', (_what, pod, context, expected) => {
    expect(causes(pod, context)).toEqual(expected);
  });

  it.each<[string, Pod]>([
    ['a pod that runs', podOf({ ready: true, state: { running: { startedAt: at(4) } } })],
    ['a succeeded pod', podOf({ state: ended(0) }, {}, { phase: 'Succeeded' })],
    ['a pod whose containers are being created', podOf({ state: { waiting: { reason: 'ContainerCreating' } } })],
    ['a pod without a status', makePod('a')],
    [
      'a pod that was restarted long ago',
      podOf({ ready: true, restartCount: 1, lastState: ended(1), state: { running: { startedAt: at(-600) } } }),
    ],
  ])('explains no cause for %s', (_what, pod) => {
    expect(causes(pod)).toEqual([]);
  });
});

it.each([
  ['Failed', true, 'nothing: the pod has failed and is not restarted'],
  ['Succeeded', false, 'nothing: the pod has succeeded'],
  ['Running', false, 'nothing: the pod is in the desired state'],
  ['Running', true, 'nothing: all start steps are done'],
])('the line about next steps of a pod in phase %s, which has causes: %s, is: %s', (phase, hasCauses, expected) => {
  expect(nothingNext(phase, hasCauses)).toBe(expected);
});

it.each([
  ['HTTP probe failed with statuscode: 404', 'HTTP 404'],
  ['', ''],
  ['dial tcp 10.0.0.1:80: connect: connection refused', 'dial tcp 10.0.0.1:80: connect: connection refused'],
  ['x'.repeat(121), `${'x'.repeat(119)}…`],
])('shortens the probe output %j to %j', (output, expected) => {
  expect(probeOutput(output)).toBe(expected);
});

describe('repeated texts in an explanation', () => {
  const said = `c: ErrImagePull: ${image}`;

  it.each([
    [`Error: ${image}, really`, 'Error: (as above), really'],
    ['c: ErrImagePull', 'c: ErrImagePull'],
    ['Back-off pulling image "registry.example/shop/web:2"', 'Back-off pulling image "registry.example/shop/web:2"'],
    [`${image}; ${image}`, '(as above); (as above)'],
    ['', ''],
  ])('a later line %j that repeats a long error becomes %j', (text, expected) => {
    expect(withoutRepeats(text, said)).toBe(expected);
  });

  it('oneLine replaces line breaks and terminal control characters', () => {
    expect(oneLine('a \n\t b\x1b[2J')).toBe('a b\uFFFD[2J');
  });
});
