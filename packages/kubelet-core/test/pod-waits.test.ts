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

describe('the wait text of a pod for each step in progress', () => {
  it.each<[PodStepName, string | undefined, string]>([
    ['Devices', 'main', 'devices of main: being allocated'],
    ['Devices', undefined, 'devices: being allocated'],
    ['Cgroup', undefined, 'cgroup: being created'],
    ['Volumes', undefined, 'volumes: being mounted'],
    ['PrepareClaims', undefined, 'resource claims: being prepared'],
    ['UnprepareClaims', undefined, 'resource claims: being unprepared'],
    ['Sandbox', undefined, 'sandbox: being created, with its network'],
    ['Image', 'main', 'image of main: being checked or pulled'],
    ['CreateContainer', 'main', 'container main: being created'],
    ['StartContainer', 'main', 'container main: being started'],
    ['PostStart', 'main', 'hook postStart of main: running'],
    ['PreStop', 'main', 'hook preStop of main: running'],
    ['Stop', undefined, 'stop: containers are being stopped'],
    ['CleanUp', undefined, 'clean-up: volumes and cgroup are being removed'],
    ['Probe', undefined, 'Probe'],
  ])('shows a %s step in progress (target: %s) as the wait "%s"', (step, target, what) => {
    const steps = [open(step, target === undefined ? {} : { target })];
    expect(waitsOf(makePod('a'), { steps })).toEqual([{ what, sinceMs: T + 7000 }]);
  });

  it('lists a step in progress with its message, but not a completed step or the Admission step, which has an entry of its own', () => {
    const steps = [
      open('Volumes', { message: 'secret x' }),
      open('Admission'),
      { ...open('Image'), endedAtMs: T + 8000, outcome: 'done' as const },
    ];
    expect(waitsOf(makePod('a'), { steps })).toEqual([{ what: 'volumes: being mounted: secret x', sinceMs: T + 7000 }]);
  });
});

describe('waits for the node', () => {
  it('the waits of a pod include problems of the runtime and the network, and an admission that is not decided', () => {
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
  ])('a pod waits for its full name while another pod holds it: %s', (holderUid, holder) => {
    const worker = { activity: { kind: 'waitingForFullName', sinceMs: T + 1, holderUid } };
    expect(waitsOf(makePod('a'), { worker })).toEqual([{ what: `name a_default: ${holder}`, sinceMs: T + 1 }]);
  });
});

describe('waits for volumes', () => {
  it('a CSI call without a response is listed before the step that waits for the call', () => {
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

describe('waits for a status update', () => {
  it.each<[string, PodStep, readonly string[]]>([
    ['started less than a second ago: none', open('StatusSent', { startedAtMs: T + 59_001 }), []],
    [
      'started a second ago',
      open('StatusSent', { startedAtMs: T + 59_000 }),
      ['status: the API server has not confirmed the status yet'],
    ],
    [
      'failed with a message',
      failed('StatusSent', { message: 'no' }),
      ['status: the API server did not receive the status: no'],
    ],
    ['failed without a message', failed('StatusSent'), ['status: the API server did not receive the status']],
    ['succeeded: none', failed('StatusSent', { outcome: 'done' }), []],
  ])('shows a wait for a status update that %s', (_what, step, expected) => {
    const waits = waitsOf(makePod('a'), { steps: [step] });
    expect(waits).toEqual(expected.map((what) => ({ what, sinceMs: step.startedAtMs })));
  });
});

describe('waits that are caused by failed steps of the whole pod', () => {
  it.each([
    ['Cgroup', 'cgroup'],
    ['Volumes', 'volumes'],
    ['Sandbox', 'sandbox'],
    ['Stop', 'stop'],
    ['CleanUp', 'clean-up'],
  ] as const)('shows a failed %s step of a pod as a wait with start and retry time', (step, name) => {
    const steps = [failed(step, { message: 'no', failingSinceMs: T + 2000 })];
    const worker = backingOff({ untilMs: T + 70_000 });
    expect(waitsOf(makePod('a'), { steps, worker })).toEqual([
      { what: `${name}: no`, sinceMs: T + 2000, untilMs: T + 70_000 },
    ]);
  });

  it('a wait for a failed step omits unknown times', () => {
    expect(waitsOf(makePod('a'), { steps: [failed('Volumes')] })).toStrictEqual([{ what: 'volumes: failed' }]);
  });

  it('the waits of a pod omit successful and cancelled steps, and failed steps of single containers', () => {
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
      'with the last error',
      { error: 'no such volume', untilMs: T + 1 },
      { what: 'retry: no such volume', untilMs: T + 1 },
    ],
    ['without a known error', {}, { what: 'retry: the last try failed' }],
  ])('a pod in back-off waits for a retry %s if no other wait has a retry time', (_what, activity, expected) => {
    expect(waitsOf(makePod('a'), { worker: backingOff(activity) })).toStrictEqual([{ sinceMs: T + 9000, ...expected }]);
  });

  it('a pod whose worker is not backing off has no wait for a retry', () => {
    expect(waitsOf(makePod('a'), { worker: { activity: { kind: 'syncing', untilMs: T, error: 'x' } } })).toEqual([]);
    const waits = waitsOf(makePod('a', { status: pending({ reason: 'CrashLoopBackOff' }) }), {
      worker: { activity: { kind: 'syncing', untilMs: T } },
    });
    expect(waits).toStrictEqual([{ what: 'container main: CrashLoopBackOff' }]);
  });
});

describe('waits for a resize', () => {
  it.each<[Partial<Condition> & { readonly type: string }, readonly object[]]>([
    [{ type: 'PodResizePending' }, [{ what: 'resize: pending' }]],
    [{ type: 'PodResizeInProgress', message: '' }, [{ what: 'resize: in progress' }]],
    [
      { type: 'PodResizePending', reason: 'Deferred', message: 'no CPU', lastTransitionTime: at(3) },
      [{ what: 'resize: Deferred: no CPU', sinceMs: T + 3000 }],
    ],
    [{ type: 'PodResizePending', status: 'False' }, []],
    [{ type: 'Ready' }, []],
  ])('a pod with the condition %j has the waits %j', (condition, expected) => {
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
    ['is shown as waiting if its status has no reason', pending({}), {}, { what: 'container main: waiting' }],
    [
      'is shown with reason and message',
      pending({ reason: 'ErrImagePull', message: 'no such image' }),
      {},
      { what: 'container main: ErrImagePull: no such image' },
    ],
    [
      'waits since its last exit',
      pending({ reason: 'x' }, { lastState: ended }),
      { steps },
      { what: 'container main: x', sinceMs: T + 8000 },
    ],
    [
      'waits since its last failed step if it has not run',
      pending({ reason: 'x' }, { lastState: { terminated: { exitCode: 1 } } }),
      { steps },
      { what: 'container main: x', sinceMs: T + 6000 },
    ],
    [
      'waits since the kubelet saw the pod if no step was tried',
      pending({ reason: 'x' }),
      { steps: steps.slice(0, 1) },
      { what: 'container main: x', sinceMs: T + 1000 },
    ],
    [
      'has no retry time if it is not in back-off',
      pending({ reason: 'x' }),
      { worker: backingOff({ untilMs: T + 70_000 }), steps: [failed('Volumes')] },
      { what: 'container main: x' },
    ],
    [
      "has its pod's retry time if it is in back-off",
      pending({ reason: 'ImagePullBackOff' }),
      { worker: backingOff({ untilMs: T + 70_000 }) },
      { what: 'container main: ImagePullBackOff', untilMs: T + 70_000 },
    ],
  ])('a container that waits to start %s', (_what, status, context, expected) => {
    expect(waitsOf(makePod('a', { status }), context).at(-1)).toStrictEqual(expected);
  });

  it('waits for init containers come before waits for main containers', () => {
    const initContainerStatuses = [{ ...container, name: 'init', state: { waiting: { reason: 'x' } } }];
    const pod = makePod('a', { status: { ...pending({ reason: 'PodInitializing' }), initContainerStatuses } });
    expect(waitsOf(pod).map(({ what }) => what)).toEqual(['container init: x', 'container main: PodInitializing']);
  });
});

describe('waits for a running container', () => {
  const probe = (target: string, seconds: number): PodStep =>
    failed('Probe', { target, startedAtMs: T + seconds * 1000 });

  it.each<[string, Status, readonly PodStep[], readonly object[]]>([
    ['is ready: none', running({ ready: true }), [], []],
    [
      'is not ready, since the container runs',
      running(),
      [],
      [{ what: 'container main: not ready', sinceMs: T + 4000 }],
    ],
    [
      'is not ready, without a start time',
      running({ state: { running: {} } }),
      [],
      [{ what: 'container main: not ready' }],
    ],
    [
      'has not started',
      running({ started: false }),
      [],
      [{ what: 'container main: startup probe has not succeeded yet', sinceMs: T + 4000 }],
    ],
    [
      'is not ready, since its last failed readiness probe',
      running({ started: true }),
      [
        ...[probe('readiness of main', 10), probe('readiness of main', 20), probe('readiness of side', 30)],
        open('PostStart', { target: 'hook of main', startedAtMs: T + 40_000, endedAtMs: T + 40_000 }),
      ],
      [{ what: 'container main: not ready', sinceMs: T + 20_000 }],
    ],
    ['has terminated: none', running({ state: { terminated: { exitCode: 0 } } }), [], []],
  ])('shows a wait for a container that %s', (_what, status, steps, expected) => {
    expect(waitsOf(makePod('a', { status }), { steps })).toStrictEqual(expected);
  });
});
