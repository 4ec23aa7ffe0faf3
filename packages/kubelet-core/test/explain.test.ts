import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { type ExplainContext, explainPod } from '../src/explain/explain.ts';
import { nodeExplanationText, podExplanationText } from '../src/explain/explanation-text.ts';
import type { PodStep, PodStepName } from '../src/explain/pod-journal.ts';
import { noteConditions } from '../src/explain/pod-steps.ts';
import { emptyStatus, makePod } from './fakes.ts';

const T = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(T + seconds * 1_000).toISOString();

const done = (step: PodStepName, seconds: number, more: Partial<PodStep> = {}): PodStep => ({
  ...{ step, startedAtMs: T + seconds * 1_000, endedAtMs: T + seconds * 1_000 + 5, outcome: 'done' },
  ...more,
});
const open = (step: PodStepName, seconds: number, target?: string): PodStep => ({
  ...{ step, startedAtMs: T + seconds * 1_000 },
  ...(target && { target }),
});

function explained(pod: Pod, context: Partial<ExplainContext> = {}) {
  return explainPod(pod, {
    ...{ nowMs: T + 60_000, noted: [], undecided: false, isEnding: false, worker: undefined },
    ...{ runtimeStatus: undefined, runtimeErrors: [], networkError: undefined },
    ...context,
  });
}

const ready = {
  id: 's',
  state: 'ready',
  attempt: 0,
  createdAtMs: T + 2_000,
  ips: [],
  hostNetwork: false,
  runtimeHandler: '',
} as const;
const container = (more: object): RuntimePodStatus['containers'][number] => ({
  ...{
    id: 'c',
    name: 'main',
    state: 'running',
    createdAtMs: T + 3_000,
    startedAtMs: T + 4_000,
    finishedAtMs: 0,
    exitCode: 0,
  },
  ...{ image: '', imageId: '', hash: '', restartCount: 0, reason: '', message: '', sandboxId: 's' },
  ...more,
});
const waiting = (reason: string, more: object = {}) => ({
  ...{ name: 'main', state: { waiting: { reason } }, ready: false, restartCount: 0, image: '', imageID: '' },
  ...more,
});
const running = {
  name: 'main',
  ready: true,
  started: true,
  restartCount: 0,
  image: '',
  imageID: '',
  state: { running: { startedAt: at(4) } },
};
const isReady = { type: 'Ready', status: 'True', lastTransitionTime: at(5) };

describe('podSteps', () => {
  it('explain lists the steps that the API server recorded before those of the kubelet', () => {
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(1) };
    const pod = makePod('a', { metadata: { creationTimestamp: at(0) }, status: { conditions: [scheduled] } });
    const { steps } = explained(pod, { noted: [done('Seen', 1.2), done('Admission', 1.3)] });
    expect(steps.map(({ step }) => step)).toEqual(['Created', 'Scheduled', 'Seen', 'Admission']);
  });

  it('explain derives the steps that preceded a kubelet restart from the runtime and the pod status', () => {
    const pod = makePod('a', { status: { phase: 'Running', conditions: [isReady], containerStatuses: [running] } });
    const earlier = container({ id: 'c0', state: 'exited', createdAtMs: T, finishedAtMs: T + 1_000, exitCode: 3 });
    const runtimeStatus = emptyStatus(pod, { sandboxes: [ready], containers: [container({}), earlier] });
    const { steps, next, waitingFor } = explained(pod, { noted: [done('Seen', 30)], runtimeStatus });
    expect(steps.map(({ step, target }) => [step, target].filter(Boolean).join(' '))).toEqual([
      ...['Sandbox', 'CreateContainer main', 'StartContainer main', 'Condition Ready', 'Seen'],
    ]);
    expect({ next, waitingFor }).toEqual({ next: [], waitingFor: [] });
  });

  it('explain shows how a container terminated', () => {
    const pod = makePod('a', { status: { phase: 'Running' } });
    const ended = container({ state: 'exited', finishedAtMs: T + 9_000, exitCode: 137, reason: 'OOMKilled' });
    const { steps } = explained(pod, { runtimeStatus: emptyStatus(pod, { sandboxes: [ready], containers: [ended] }) });
    expect(steps.at(-1)).toMatchObject({ step: 'ContainerEnded', target: 'main', message: 'exit code 137, OOMKilled' });
  });
});

describe('nextSteps', () => {
  const names = (pod: Pod, context: Partial<ExplainContext> = {}): string[] =>
    explained(pod, context).next.map(({ step, target }) => [step, target].filter(Boolean).join(' '));
  const inits = {
    initContainers: [{ name: 'init' }, { name: 'side', restartPolicy: 'Always' }],
    containers: [{ name: 'main', lifecycle: { postStart: { exec: {} } } }],
  };

  it.each<[string, Partial<Pod['spec']>, PodStep[], string[]]>([
    [
      'all start steps if the pod was just seen',
      inits,
      [done('Seen', 0)],
      [
        ...['Admission', 'Cgroup', 'Volumes', 'Sandbox', 'Image init', 'CreateContainer init', 'StartContainer init'],
        ...['ContainerEnded init', 'Image side', 'CreateContainer side', 'StartContainer side'],
        ...['Image main', 'CreateContainer main', 'StartContainer main', 'PostStart main', 'Condition Ready'],
      ],
    ],
    [
      'the steps after the one in progress if volumes are mounted',
      {},
      [done('Admission', 0), done('Cgroup', 0), done('Volumes', 1), open('Sandbox', 2)],
      ['Image main', 'CreateContainer main', 'StartContainer main', 'Condition Ready'],
    ],
    [
      'the failed step and all after it',
      {},
      [done('Admission', 0), done('Cgroup', 0), done('Volumes', 1, { outcome: 'failed' })],
      ['Volumes', 'Sandbox', 'Image main', 'CreateContainer main', 'StartContainer main', 'Condition Ready'],
    ],
  ])('the next steps of a pod are %s', (_title, spec, noted, expected) => {
    expect(names(makePod('a', { spec: spec as Partial<Pod['spec']> }), { noted })).toEqual(expected);
  });

  it('the next steps of a container that terminated and will restart are all its start steps', () => {
    const status = { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] };
    const pod = makePod('a', { status });
    const ended = container({ state: 'exited', finishedAtMs: T + 9_000, exitCode: 1 });
    const noted = ['Image', 'CreateContainer', 'StartContainer'].map((step) =>
      done(step as PodStepName, 3, { target: 'main' }),
    );
    const runtimeStatus = emptyStatus(pod, { sandboxes: [ready], containers: [ended] });
    expect(names(pod, { noted, runtimeStatus })).toEqual([
      ...['Image main', 'CreateContainer main', 'StartContainer main', 'Condition Ready'],
    ]);
  });

  it('the next steps of a terminating pod are its stop steps; a terminated pod has none', () => {
    const pod = makePod('a', { status: { phase: 'Running', containerStatuses: [running] } });
    expect(names(pod, { isEnding: true })).toEqual(['Stop', 'CleanUp']);
    expect(names(pod, { isEnding: true, noted: [done('Stop', 1), open('CleanUp', 2)] })).toEqual([]);
    const succeeded = makePod('a', { status: { phase: 'Succeeded' } });
    expect(names(succeeded, { worker: { activity: { kind: 'finished' } } })).toEqual([]);
  });
});

describe('podWaits', () => {
  it.each<[string, Partial<ExplainContext>, Pod['status'], object[]]>([
    [
      'its admission, since the kubelet saw the pod',
      { undecided: true, noted: [done('Seen', 3), open('Admission', 3)] },
      undefined,
      [{ what: 'admission: the kubelet has not decided yet whether the pod may run here', sinceMs: T + 3_000 }],
    ],
    [
      'a step in progress, since the step started',
      { noted: [open('Image', 7, 'main')] },
      { phase: 'Pending' },
      [{ what: 'image of main: being checked or pulled', sinceMs: T + 7_000 }],
    ],
    [
      'a container in back-off, from its exit until the next attempt',
      { worker: { activity: { kind: 'backingOff', sinceMs: T + 9_000, untilMs: T + 70_000, error: 'back-off' } } },
      {
        containerStatuses: [
          waiting('CrashLoopBackOff', { lastState: { terminated: { exitCode: 1, finishedAt: at(8) } } }),
        ],
      },
      [{ what: 'container main: CrashLoopBackOff', sinceMs: T + 8_000, untilMs: T + 70_000 }],
    ],
    [
      'a running container that is not ready, since its probe failed',
      { noted: [done('Probe', 20, { target: 'readiness of main', outcome: 'failed' })] },
      { containerStatuses: [{ ...running, ready: false }] },
      [{ what: 'container main: not ready', sinceMs: T + 20_000 }],
    ],
    [
      'a startup probe, since the container runs',
      {},
      { containerStatuses: [{ ...running, ready: false, started: false }] },
      [{ what: 'container main: startup probe has not succeeded yet', sinceMs: T + 4_000 }],
    ],
    [
      'a status update that the API server refused',
      { noted: [done('StatusSent', 4, { outcome: 'failed', message: 'refused' })] },
      { phase: 'Running' },
      [{ what: 'status: the API server did not receive the status: refused', sinceMs: T + 4_000 }],
    ],
    [
      'nothing if a status update started less than a second ago',
      { noted: [open('StatusSent', 59.5)] },
      { phase: 'Running' },
      [],
    ],
    [
      'a status update that started more than a second ago',
      { noted: [open('StatusSent', 50)] },
      { phase: 'Running' },
      [{ what: 'status: the API server has not confirmed the status yet', sinceMs: T + 50_000 }],
    ],
    [
      'a retry with the error of the last sync if no step explains it',
      { worker: { activity: { kind: 'backingOff', sinceMs: T, untilMs: T + 1, error: 'no such volume' } } },
      { phase: 'Pending' },
      [{ what: 'retry: no such volume', sinceMs: T, untilMs: T + 1 }],
    ],
    [
      'volumes that could not be mounted, since the first attempt',
      {
        worker: {
          activity: { kind: 'backingOff', sinceMs: T + 9_000, untilMs: T + 70_000, error: 'unmounted volumes=[s]' },
        },
        noted: [done('Volumes', 9, { outcome: 'failed', message: 'no such secret', failingSinceMs: T + 2_000 })],
      },
      { containerStatuses: [waiting('ContainerCreating')] },
      [
        { what: 'volumes: no such secret', sinceMs: T + 2_000, untilMs: T + 70_000 },
        { what: 'container main: ContainerCreating' },
      ],
    ],
    [
      'the network, unless the pod uses the host network',
      { networkError: 'no CNI' },
      { phase: 'Pending' },
      [{ what: 'network: no CNI' }],
    ],
  ])('a pod waits for %s', (_title, context, status, expected) => {
    expect(explained(makePod('a', status ? { status } : {}), context).waitingFor).toEqual(expected);
  });

  it('a terminating pod does not wait for the readiness of its containers', () => {
    const status = { containerStatuses: [{ ...running, ready: false }] };
    const pod = makePod('a', { status, metadata: { deletionTimestamp: at(9) } });
    expect(explained(pod).waitingFor).toEqual([]);
  });
});

describe('explainPod', () => {
  it('explainPod includes probes and evictions only if there are any', () => {
    expect(explained(makePod('a'), { evictions: [] })).toMatchObject({ probes: [] });
    expect(explained(makePod('a'), { evictions: [] })).not.toHaveProperty('evictions');
    expect(explained(makePod('a'), { evictions: ['e'], probes: ['p'] })).toMatchObject({
      ...{ evictions: ['e'], probes: ['p'] },
    });
  });
});

describe('noteConditions', () => {
  it('noteConditions records a condition each time it becomes true', () => {
    const noted: PodStep[] = [];
    const journal = {
      steps: () => noted,
      mark: (_uid: string, step: PodStepName, detail?: { target?: string }) =>
        void noted.splice(0, 1, done(step, 5.4, detail)),
    };
    const pod = makePod('a');
    const once = { conditions: [isReady, { type: 'Initialized', status: 'False' }, { type: 'Own', status: 'True' }] };
    noteConditions(journal, pod, once);
    noteConditions(journal, pod, once);
    expect(noted).toEqual([done('Condition', 5.4, { target: 'Ready' })]);
    noted[0] = done('Condition', 4, { target: 'Ready' });
    noteConditions(journal, pod, once);
    expect(noted).toEqual([done('Condition', 5.4, { target: 'Ready' })]);
  });
});

describe('explanation text', () => {
  it('the explanation text shows causes first, then waits, next steps and past steps', () => {
    const status = { phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] };
    const worker = { activity: { kind: 'backingOff', sinceMs: T + 50_000, untilMs: T + 65_000 } };
    const failed = {
      ...done('Image', 40, { target: 'main', message: 'no\nsuch \x1b[2Jimage', times: 3 }),
      outcome: 'failed' as const,
    };
    const probes = [{ kind: 'liveness', container: 'main', waitsFor: 'the container to run', last: [] }];
    const noted = [
      done('Seen', 0, { endedAtMs: T }),
      done('Admission', 1),
      done('Sandbox', 2),
      failed,
      open('PostStart', 59, 'x'),
    ];
    const runtimeStatus = emptyStatus(makePod('a'), { sandboxes: [ready] });
    const value = explained(makePod('a', { status }), { noted, worker, probes, runtimeStatus });
    const event = { type: 'Warning', reason: 'Failed', message: 'no', count: 2, lastAtMs: T };
    expect(podExplanationText({ ...value, events: [event] })).toBe(`main: ImagePullBackOff; next try in 5 s
hook postStart of x: running
Pod default/a is Pending
uid uid-a, at 2026-01-01T00:01:00.000Z

Waits for:
  - hook postStart of x: running (for 1.0s, since 2026-01-01T00:00:59.000Z)
  - container main: ImagePullBackOff (for 20.0s, since 2026-01-01T00:00:40.005Z; tried again in 5.0s)

Next:
  - Image main
  - CreateContainer main
  - StartContainer main
  - Condition Ready
  next attempt at 2026-01-01T00:01:05.000Z

Steps:
  2026-01-01T00:00:00.000Z           Seen
  2026-01-01T00:00:01.000Z  5ms      Admission
  2026-01-01T00:00:02.000Z  5ms      Sandbox
  2026-01-01T00:00:40.000Z  5ms      Image      main  failed; no such \uFFFD[2Jimage; started 3 times
  2026-01-01T00:00:59.000Z  1.0s...  PostStart  x     in progress

Probes:
  liveness of main: no result yet; waits for the container to run

Events:
  2026-01-01T00:00:00.000Z  Warning  Failed (2 times): no
`);
  });

  it('nodeExplanationText shows the problems of the node and the pods that wait', () => {
    const { pod, phase } = explained(makePod('a', { status: { phase: 'Pending' } }));
    const waitingFor = [{ what: 'volumes: being mounted', sinceMs: T }];
    expect(
      nodeExplanationText({ problems: ['pleg: late'], pods: 3, waiting: [{ pod, phase, waitingFor }] }, T + 90_000),
    ).toBe(
      `3 pods, 1 of them not in the desired state; at 2026-01-01T00:01:30.000Z

Problems:
  pleg: late

Not in the desired state:
  default/a (Pending)
    - volumes: being mounted (for 1m30s, since 2026-01-01T00:00:00.000Z)
`,
    );
    const thresholds = [{ threshold: 'memory.available<100Mi', available: '90Mi', capacity: '4Gi', met: true }];
    const eviction = { conditions: ['MemoryPressure'], thresholds, decisions: [] };
    expect(nodeExplanationText({ problems: [], pods: 0, waiting: [], eviction }, T)).toContain(`Eviction:
  memory.available<100Mi: 90Mi of 4Gi available, threshold met
  conditions: ["MemoryPressure"]
`);
    expect(nodeExplanationText({ problems: [], pods: 1, waiting: [] }, T)).toBe(
      '1 pod, 0 of them not in the desired state; at 2026-01-01T00:00:00.000Z\n\nProblems: none\n\nNot in the desired state: none\n',
    );
  });
});

describe('explanation of a pod that is not in the desired state', () => {
  const error =
    'failed to pull and unpack image "registry.example/shop/web:2": failed to resolve reference: dial tcp 192.0.2.1:443: connect: connection refused';

  it('the explanation prints a long image error once, in its first line', () => {
    const status = {
      phase: 'Pending',
      containerStatuses: [waiting('ErrImagePull', { state: { waiting: { reason: 'ErrImagePull', message: error } } })],
    };
    const noted = [done('Seen', 0), done('Image', 1, { target: 'main', outcome: 'failed', message: error })];
    const value = explained(makePod('a', { status }), { noted });
    const told = (message: string) => ({ type: 'Warning', reason: 'Failed', message, count: 1, lastAtMs: T });
    const text = podExplanationText({
      ...value,
      events: [told(`Failed to pull image: ${error}`), told('Error: ErrImagePull')],
    });
    expect(text.split('\n')[0]).toBe(`main: ErrImagePull: ${error}`);
    expect(text.split(error)).toHaveLength(2);
    expect(text).toContain('Failed to pull image: (as above)');
  });

  it('the explanation of a node includes a failed pod although the pod has no next step', () => {
    const pod = makePod('a', {
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' },
    });
    const value = explained(pod, { worker: { activity: { kind: 'finished' } } });
    const text = podExplanationText(value);
    expect(text.split('\n').slice(0, 2)).toEqual(['Evicted: The node was low on memory.', 'Pod default/a is Failed']);
    expect(text).toContain('Next: nothing: the pod has failed and is not restarted');
    expect(text).not.toContain('the pod is in the desired state');
  });

  it('the explanation marks steps from before a kubelet restart', () => {
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(1) };
    const pod = makePod('a', {
      metadata: { creationTimestamp: at(0) },
      status: { phase: 'Running', conditions: [scheduled] },
    });
    const runtimeStatus = emptyStatus(pod, { sandboxes: [ready], containers: [container({})] });
    const noted = [done('Seen', 30.7), done('Condition', 30.7, { target: 'Initialized' })];
    const { steps } = explained(pod, { noted, runtimeStatus });
    expect(steps.map(({ step, isEarlier = false }) => [step, isEarlier])).toEqual([
      ['Created', false],
      ['Scheduled', false],
      ['Sandbox', true],
      ['CreateContainer', true],
      ['StartContainer', true],
      ['Seen', false],
      ['Condition', false],
    ]);
    expect(podExplanationText(explained(pod, { noted, runtimeStatus }))).toMatch(
      /Sandbox +before this kubelet started/,
    );
  });
});
