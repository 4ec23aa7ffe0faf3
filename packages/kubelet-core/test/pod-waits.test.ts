import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { PodStep, PodStepName } from '../src/explain/pod-journal.ts';
import { podWaits, type WaitContext } from '../src/explain/pod-waits.ts';
import { makePod } from './fakes.ts';

const T = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(T + seconds * 1000).toISOString();
type Status = NonNullable<Pod['status']>;
type Condition = NonNullable<Status['conditions']>[number];

const waitsOf = (pod: Pod, context: Partial<WaitContext> = {}) =>
  podWaits(pod, {
    ...{
      undecided: false,
      worker: undefined,
      nowMs: T + 60_000,
      steps: [],
      runtimeErrors: [],
      networkError: undefined,
    },
    ...context,
  });
const open = (step: PodStepName, more: Partial<PodStep> = {}): PodStep => ({ step, startedAtMs: T + 7000, ...more });
const failed = (step: PodStepName, more: Partial<PodStep> = {}): PodStep => ({
  ...{ step, startedAtMs: T + 7000, endedAtMs: T + 8000, outcome: 'failed', ...more },
});
const container = { name: 'main', ready: false, restartCount: 0, image: '', imageID: '' };
const pending = (waiting: object, more: object = {}): Status => ({
  containerStatuses: [{ ...container, state: { waiting }, ...more }],
});
const running = (more: object = {}): Status => ({
  containerStatuses: [{ ...container, state: { running: { startedAt: at(4) } }, ...more }],
});
const backingOff = (more: object = {}) => ({ activity: { kind: 'backingOff', sinceMs: T + 9000, ...more } });

describe('waits for steps in progress', () => {
  it.each<[PodStepName, string | undefined, string]>([
    ['Devices', 'main', 'devices of main: being allocated'],
    ['Devices', undefined, 'devices: being allocated'],
    ['Cgroup', undefined, 'cgroup: being created'],
    ['Volumes', undefined, 'volumes: being mounted'],
    ['PrepareClaims', undefined, 'resource claims: being prepared'],
    ['UnprepareClaims', undefined, 'resource claims: being given back'],
    ['Sandbox', undefined, 'sandbox: being created, with its network'],
    ['Image', 'main', 'image of main: being checked or pulled'],
    ['CreateContainer', 'main', 'container main: being created'],
    ['StartContainer', 'main', 'container main: being started'],
    ['PostStart', 'main', 'hook postStart of main: running'],
    ['PreStop', 'main', 'hook preStop of main: running'],
    ['Stop', undefined, 'stop: containers are being stopped'],
    ['CleanUp', undefined, 'clean-up: volumes and cgroup are being removed'],
    ['Probe', undefined, 'Probe'],
  ])('%s of %s', (step, target, what) => {
    const steps = [open(step, target === undefined ? {} : { target })];
    expect(waitsOf(makePod('a'), { steps })).toEqual([{ what, sinceMs: T + 7000 }]);
  });

  it('include the message of the step, but not completed steps or the separate admission', () => {
    const steps = [
      open('Volumes', { message: 'secret x' }),
      open('Admission'),
      { ...open('Image'), endedAtMs: T + 8000, outcome: 'done' as const },
    ];
    expect(waitsOf(makePod('a'), { steps })).toEqual([{ what: 'volumes: being mounted: secret x', sinceMs: T + 7000 }]);
  });
});

describe('waits for the node', () => {
  it('include the runtime, the network and the admission', () => {
    const context = { runtimeErrors: ['down', 'late'], networkError: 'no CNI', undecided: true };
    const steps = [open('Created', { startedAtMs: T, endedAtMs: T }), open('Seen', { endedAtMs: T + 7000 })];
    expect(waitsOf(makePod('a'), { ...context, steps })).toEqual([
      { what: 'runtime: down' },
      { what: 'runtime: late' },
      { what: 'admission: the kubelet has not decided yet whether the pod may run here', sinceMs: T + 7000 },
      { what: 'network: no CNI' },
    ]);
    expect(waitsOf(makePod('a', { spec: { hostNetwork: true } }), { networkError: 'no CNI' })).toEqual([]);
    expect(waitsOf(makePod('a'), { undecided: true })).toStrictEqual([
      { what: 'admission: the kubelet has not decided yet whether the pod may run here' },
    ]);
  });

  it.each([
    ['u9', 'pod u9 holds the name, or still runs'],
    [undefined, 'the running pods are not known yet'],
  ])('include a full name that another pod holds: %s', (holderUid, holder) => {
    const worker = { activity: { kind: 'waitingForFullName', sinceMs: T + 1, holderUid } };
    expect(waitsOf(makePod('a'), { worker })).toEqual([{ what: `name a_default: ${holder}`, sinceMs: T + 1 }]);
  });
});

describe('waits for volumes', () => {
  it('a call that a driver does not answer is named before the step that waits for it', () => {
    const what = 'NodeStageVolume of driver x has not answered for 42 s';
    const volumeWaits = [
      { volume: 'data', what, sinceMs: T },
      { volume: 'log', what: 'waits' },
    ];
    expect(waitsOf(makePod('a'), { volumeWaits, steps: [open('Volumes')] })).toEqual([
      { what: `volume data: ${what}`, sinceMs: T },
      { what: 'volume log: waits' },
      { what: 'volumes: being mounted', sinceMs: T + 7000 },
    ]);
  });
});

describe('waits for the status update', () => {
  it.each<[string, PodStep, readonly string[]]>([
    ['is on its way for a moment', open('StatusSent', { startedAtMs: T + 59_001 }), []],
    [
      'is on its way for a second',
      open('StatusSent', { startedAtMs: T + 59_000 }),
      ['status: the API server has not confirmed the status yet'],
    ],
    ['was refused', failed('StatusSent', { message: 'no' }), ['status: the API server did not receive the status: no']],
    ['was not taken', failed('StatusSent'), ['status: the API server did not receive the status']],
    ['was taken', failed('StatusSent', { outcome: 'done' }), []],
  ])('%s', (_what, step, expected) => {
    const waits = waitsOf(makePod('a'), { steps: [step] });
    expect(waits).toEqual(expected.map((what) => ({ what, sinceMs: step.startedAtMs })));
  });
});

describe('waits for failed steps of the whole pod', () => {
  it.each([
    ['Cgroup', 'cgroup'],
    ['Volumes', 'volumes'],
    ['Sandbox', 'sandbox'],
    ['Stop', 'stop'],
    ['CleanUp', 'clean-up'],
  ] as const)('is %s', (step, name) => {
    const steps = [failed(step, { message: 'no', failingSinceMs: T + 2000 })];
    const worker = backingOff({ untilMs: T + 70_000 });
    expect(waitsOf(makePod('a'), { steps, worker })).toEqual([
      { what: `${name}: no`, sinceMs: T + 2000, untilMs: T + 70_000 },
    ]);
  });

  it('omit unknown times', () => {
    expect(waitsOf(makePod('a'), { steps: [failed('Volumes')] })).toStrictEqual([{ what: 'volumes: it failed' }]);
  });

  it('omit successful and cancelled steps, and steps of containers', () => {
    const steps = [
      failed('Volumes', { outcome: 'done' }),
      failed('Sandbox', { outcome: 'cancelled' }),
      failed('Image', { target: 'main', message: 'no' }),
    ];
    expect(waitsOf(makePod('a'), { steps })).toEqual([]);
  });
});

describe('waits for a retry', () => {
  it.each<[string, object, object]>([
    [
      'that failed with',
      { error: 'no such volume', untilMs: T + 1 },
      { what: 'retry: no such volume', untilMs: T + 1 },
    ],
    ['of which nobody knows more', {}, { what: 'retry: the last try failed' }],
  ])('include %s if no other wait has a retry time', (_what, activity, expected) => {
    expect(waitsOf(makePod('a'), { worker: backingOff(activity) })).toStrictEqual([{ sinceMs: T + 9000, ...expected }]);
  });

  it('are absent if the worker is not backing off', () => {
    expect(waitsOf(makePod('a'), { worker: { activity: { kind: 'syncing', untilMs: T, error: 'x' } } })).toEqual([]);
    const waits = waitsOf(makePod('a', { status: pending({ reason: 'CrashLoopBackOff' }) }), {
      worker: { activity: { kind: 'syncing', untilMs: T } },
    });
    expect(waits).toStrictEqual([{ what: 'container main: CrashLoopBackOff' }]);
  });
});

describe('waits for a resize', () => {
  it.each<[Partial<Condition> & { readonly type: string }, readonly object[]]>([
    [{ type: 'PodResizePending' }, [{ what: 'resize: it waits' }]],
    [{ type: 'PodResizeInProgress', message: '' }, [{ what: 'resize: it is being carried out' }]],
    [
      { type: 'PodResizePending', reason: 'Deferred', message: 'no CPU', lastTransitionTime: at(3) },
      [{ what: 'resize: Deferred: no CPU', sinceMs: T + 3000 }],
    ],
    [{ type: 'PodResizePending', status: 'False' }, []],
    [{ type: 'Ready' }, []],
  ])('of %j is %j', (condition, expected) => {
    const conditions = [{ status: 'True', ...condition }];
    expect(waitsOf(makePod('a', { status: { conditions } }))).toStrictEqual(expected);
  });
});

describe('waits for a container to start', () => {
  const steps = [
    open('Seen', { startedAtMs: T + 1000, endedAtMs: T + 1000 }),
    failed('Image', { target: 'main', endedAtMs: T + 5000 }),
    failed('Image', { target: 'main', endedAtMs: T + 6000 }),
    failed('Image', { target: 'side', endedAtMs: T + 9000 }),
  ];
  const ended = { terminated: { exitCode: 1, finishedAt: at(8) } };

  it.each<[string, Status, Partial<WaitContext>, object]>([
    ['is told as waiting, where it has no reason', pending({}), {}, { what: 'container main: waiting' }],
    [
      'is told with its reason and message',
      pending({ reason: 'ErrImagePull', message: 'no such image' }),
      {},
      { what: 'container main: ErrImagePull: no such image' },
    ],
    [
      'waits since it ended',
      pending({ reason: 'x' }, { lastState: ended }),
      { steps },
      { what: 'container main: x', sinceMs: T + 8000 },
    ],
    [
      'waits since the last that was tried for it ended, where it has not run',
      pending({ reason: 'x' }, { lastState: { terminated: { exitCode: 1 } } }),
      { steps },
      { what: 'container main: x', sinceMs: T + 6000 },
    ],
    [
      'waits since its pod was seen, where nothing was tried',
      pending({ reason: 'x' }),
      { steps: steps.slice(0, 1) },
      { what: 'container main: x', sinceMs: T + 1000 },
    ],
    [
      'is tried again only where it is in back-off',
      pending({ reason: 'x' }),
      { worker: backingOff({ untilMs: T + 70_000 }), steps: [failed('Volumes')] },
      { what: 'container main: x' },
    ],
    [
      'is tried again when its pod is',
      pending({ reason: 'ImagePullBackOff' }),
      { worker: backingOff({ untilMs: T + 70_000 }) },
      { what: 'container main: ImagePullBackOff', untilMs: T + 70_000 },
    ],
  ])('%s', (_what, status, context, expected) => {
    expect(waitsOf(makePod('a', { status }), context).at(-1)).toStrictEqual(expected);
  });

  it('include init containers first', () => {
    const initContainerStatuses = [{ ...container, name: 'init', state: { waiting: { reason: 'x' } } }];
    const pod = makePod('a', { status: { ...pending({ reason: 'PodInitializing' }), initContainerStatuses } });
    expect(waitsOf(pod).map(({ what }) => what)).toEqual(['container init: x', 'container main: PodInitializing']);
  });
});

describe('waits for a running container', () => {
  const probe = (target: string, seconds: number): PodStep =>
    failed('Probe', { target, startedAtMs: T + seconds * 1000 });

  it.each<[string, Status, readonly PodStep[], readonly object[]]>([
    ['is ready', running({ ready: true }), [], []],
    ['is not ready, since it runs', running(), [], [{ what: 'container main: it is not ready', sinceMs: T + 4000 }]],
    [
      'is not ready, nobody knows since when',
      running({ state: { running: {} } }),
      [],
      [{ what: 'container main: it is not ready' }],
    ],
    [
      'has not started',
      running({ started: false }),
      [],
      [{ what: 'container main: its startup probe has not succeeded yet', sinceMs: T + 4000 }],
    ],
    [
      'is not ready, since the last of its probes failed',
      running({ started: true }),
      [
        ...[probe('readiness of main', 10), probe('readiness of main', 20), probe('readiness of side', 30)],
        open('PostStart', { target: 'hook of main', startedAtMs: T + 40_000, endedAtMs: T + 40_000 }),
      ],
      [{ what: 'container main: it is not ready', sinceMs: T + 20_000 }],
    ],
    ['has ended', running({ state: { terminated: { exitCode: 0 } } }), [], []],
  ])('and %s', (_what, status, steps, expected) => {
    expect(waitsOf(makePod('a', { status }), { steps })).toStrictEqual(expected);
  });
});
