import type { Pod, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { PodStep, PodStepName } from '../src/explain/pod-journal.ts';
import { nextSteps, noteConditions, podSteps } from '../src/explain/pod-steps.ts';
import { emptyStatus, makePod } from './fakes.ts';

const T = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(T + seconds * 1000).toISOString();
type Status = NonNullable<Pod['status']>;
type Condition = NonNullable<Status['conditions']>[number];

const step = (name: PodStepName, seconds: number, more: Partial<PodStep> = {}): PodStep => ({
  ...{ step: name, startedAtMs: T + seconds * 1000, endedAtMs: T + seconds * 1000, outcome: 'done' },
  ...more,
});
const condition = (type: string, seconds: number, status = 'True'): Condition => ({
  ...{ type, status, lastTransitionTime: at(seconds) },
});
const sandbox = (seconds: number, state: 'ready' | 'notReady' = 'ready') => ({
  ...{ id: `s${seconds}`, state, attempt: 0, createdAtMs: T + seconds * 1000, ips: [], hostNetwork: false },
  runtimeHandler: '',
});
const container = (
  more: Partial<RuntimePodStatus['containers'][number]> = {},
): RuntimePodStatus['containers'][number] => ({
  ...{ id: 'c', name: 'main', state: 'running', createdAtMs: T + 3000, startedAtMs: T + 4000, finishedAtMs: 0 },
  ...{ exitCode: 0, image: '', imageId: '', hash: '', restartCount: 0, reason: '', message: '', sandboxId: 's' },
  ...more,
});
const named = ({ step: name, target }: Pick<PodStep, 'step' | 'target'>): string =>
  target === undefined ? name : `${name} ${target}`;

describe('steps of a pod from before this kubelet started', () => {
  const stepsOf = (
    status: Status,
    more: {
      readonly noted?: readonly PodStep[];
      readonly runtime?: Partial<RuntimePodStatus>;
      readonly created?: string;
    } = {},
  ): readonly PodStep[] => {
    const pod = makePod('a', { status, metadata: { creationTimestamp: more.created } });
    return podSteps(pod, more.noted ?? [], more.runtime && emptyStatus(pod, more.runtime));
  };

  it.each<[string, Status, Parameters<typeof stepsOf>[1], readonly PodStep[]]>([
    ['nothing without a status', {}, {}, []],
    ['the creation of the pod', {}, { created: at(1) }, [step('Created', 1)]],
    [
      'no step with an invalid time',
      { conditions: [{ type: 'PodScheduled', status: 'True' }] },
      { created: 'long ago' },
      [],
    ],
    ['no step with the time 0', {}, { created: '1970-01-01T00:00:00Z' }, []],
    [
      'the conditions that became true',
      {
        conditions: [
          ...[condition('Ready', 5), condition('ContainersReady', 4), condition('Initialized', 3)],
          condition('PodScheduled', 2),
        ],
      },
      {},
      [
        step('Scheduled', 2),
        ...['Initialized', 'ContainersReady', 'Ready'].map((target, index) => step('Condition', index + 3, { target })),
      ],
    ],
    [
      'no condition that is false or not a standard one',
      { conditions: [condition('PodScheduled', 2, 'False'), condition('Ready', 3, 'False'), condition('Own', 4)] },
      {},
      [],
    ],
    [
      'no condition that the journal recorded, but all others',
      { conditions: [condition('Ready', 5), condition('Initialized', 3)] },
      { noted: [step('Condition', 6, { target: 'Ready' }), step('Probe', 4, { target: 'Initialized' })] },
      [
        step('Condition', 3, { target: 'Initialized' }),
        step('Probe', 4, { target: 'Initialized' }),
        step('Condition', 6, { target: 'Ready' }),
      ],
    ],
    [
      'the newest sandbox and its containers',
      {},
      { runtime: { sandboxes: [sandbox(2), sandbox(1, 'notReady')], containers: [container()] } },
      [
        step('Sandbox', 2),
        step('CreateContainer', 3, { target: 'main' }),
        step('StartContainer', 4, { target: 'main' }),
      ],
    ],
    [
      'no sandbox and container steps that the journal recorded',
      {},
      {
        noted: [
          step('Sandbox', 7),
          step('CreateContainer', 8, { target: 'main' }),
          step('StartContainer', 9, { target: 'main' }),
        ],
        runtime: { sandboxes: [sandbox(2)], containers: [container()] },
      },
      [
        step('Sandbox', 7),
        step('CreateContainer', 8, { target: 'main' }),
        step('StartContainer', 9, { target: 'main' }),
      ],
    ],
    [
      'the last attempt of each container with its exit code',
      {},
      {
        noted: [step('CreateContainer', 3, { target: 'main' }), step('StartContainer', 4, { target: 'main' })],
        runtime: {
          containers: [
            container({ state: 'exited', finishedAtMs: T + 9000, exitCode: 137, reason: 'OOMKilled' }),
            container({ id: 'old', state: 'exited', finishedAtMs: T + 1000, exitCode: 1 }),
            container({
              id: 'd',
              name: 'side',
              state: 'exited',
              startedAtMs: 0,
              createdAtMs: 0,
              finishedAtMs: T + 8000,
            }),
          ],
        },
      },
      [
        step('CreateContainer', 3, { target: 'main' }),
        step('StartContainer', 4, { target: 'main' }),
        step('ContainerEnded', 8, { target: 'side', message: 'exit code 0' }),
        step('ContainerEnded', 9, { target: 'main', message: 'exit code 137, OOMKilled' }),
      ],
    ],
    [
      'no exit of a container in unknown state',
      {},
      { runtime: { containers: [container({ state: 'unknown', createdAtMs: 0, startedAtMs: 0, finishedAtMs: T })] } },
      [],
    ],
  ])('the steps derived from status and runtime contain %s', (_what, status, more, expected) => {
    expect(stepsOf(status, more)).toEqual(expected);
  });
});

describe('next steps of a pod', () => {
  const START = ['Image main', 'CreateContainer main', 'StartContainer main'];
  const nextOf = (
    pod: Pod,
    {
      steps = [],
      sandboxes,
      ending = false,
    }: {
      readonly steps?: readonly PodStep[];
      readonly sandboxes?: RuntimePodStatus['sandboxes'];
      readonly ending?: boolean;
    } = {},
  ): readonly string[] => nextSteps(pod, steps, sandboxes && emptyStatus(pod, { sandboxes }), ending).map(named);
  const status = { name: 'main', ready: false, restartCount: 0, image: '', imageID: '' };
  const main = (more: object): Status => ({ containerStatuses: [{ ...status, ...more }] });
  const isReady = condition('Ready', 5);

  it.each<[string, Status, readonly string[]]>([
    ['all steps of the container', {}, [...START, 'Condition Ready']],
    ['readiness if the container runs', main({ state: { running: {} } }), ['Condition Ready']],
    [
      'none if the container runs and the pod is ready',
      { ...main({ state: { running: {} } }), conditions: [isReady] },
      [],
    ],
    [
      'all steps of the container if the pod is no longer ready',
      { conditions: [condition('Ready', 5, 'False'), condition('Initialized', 1)] },
      [...START, 'Condition Ready'],
    ],
    [
      'only readiness if the container has terminated',
      main({ state: { terminated: { exitCode: 0 } } }),
      ['Condition Ready'],
    ],
    ['none if the pod is terminal', { phase: 'Failed' }, []],
  ])('the next steps of a pod with a ready sandbox are %s', (_what, ofPod, expected) => {
    expect(nextOf(makePod('a', { status: ofPod }), { sandboxes: [sandbox(2)] })).toEqual(expected);
  });

  it('the next steps of a pod include the sandbox if the sandbox is not ready or unknown', () => {
    const all = ['Admission', 'Cgroup', 'Volumes', 'Sandbox', ...START, 'Condition Ready'];
    expect(nextOf(makePod('a'))).toEqual(all);
    expect(nextOf(makePod('a'), { sandboxes: [sandbox(2, 'notReady')] })).toEqual(all);
  });

  it.each<[string, object | undefined, string | undefined, readonly string[]]>([
    [
      'has not started include all its steps',
      undefined,
      undefined,
      ['Image init', 'CreateContainer init', 'StartContainer init', 'ContainerEnded init'],
    ],
    ['runs include its termination', { running: {} }, undefined, ['ContainerEnded init']],
    ['has succeeded omit the init container', { terminated: { exitCode: 0 } }, undefined, []],
    [
      'has failed include all its steps again',
      { terminated: { exitCode: 1 } },
      undefined,
      ['Image init', 'CreateContainer init', 'StartContainer init', 'ContainerEnded init'],
    ],
    ['is a sidecar that runs omit the sidecar', { running: {} }, 'Always', []],
    [
      'is a sidecar that has not started include its start but not its termination',
      undefined,
      'Always',
      ['Image init', 'CreateContainer init', 'StartContainer init'],
    ],
  ])('the next steps of a pod whose init container %s', (_what, state, restartPolicy, expected) => {
    const initContainers = [{ name: 'init', image: 'x', ...(restartPolicy && { restartPolicy }) }];
    const spec = { initContainers } as Partial<Pod['spec']>;
    const initContainerStatuses = [
      { ...status, name: 'other', state: { terminated: { exitCode: 0 } } },
      ...(state === undefined ? [] : [{ ...status, name: 'init', state }]),
    ] as NonNullable<Status['initContainerStatuses']>;
    const pod = makePod('a', { spec, status: { initContainerStatuses } });
    expect(nextOf(pod, { sandboxes: [sandbox(2)] })).toEqual([...expected, ...START, 'Condition Ready']);
  });

  it.each<[string, readonly PodStep[], readonly string[]]>([
    ['omit a completed step', [step('Image', 3, { target: 'main' })], START.slice(1)],
    ['omit a step in progress', [{ step: 'Image', target: 'main', startedAtMs: T }], START.slice(1)],
    ['include a failed step', [step('Image', 3, { target: 'main', outcome: 'failed' })], START],
    ['include a step that another container has completed', [step('Image', 3, { target: 'side' })], START],
    [
      'include a step that was completed before the container exited',
      [step('Image', 3, { target: 'main' }), step('ContainerEnded', 4, { target: 'main' })],
      START,
    ],
    [
      'include a step that was completed at the time of the exit',
      [step('Image', 3, { target: 'main' }), step('ContainerEnded', 3, { target: 'main' })],
      START,
    ],
    [
      'omit a step that was completed after the exit',
      [step('ContainerEnded', 2, { target: 'main' }), step('Image', 3, { target: 'main' })],
      START.slice(1),
    ],
  ])('the next steps of a container %s', (_what, steps, expected) => {
    expect(nextOf(makePod('a'), { steps, sandboxes: [sandbox(2)] })).toEqual([...expected, 'Condition Ready']);
  });

  it('the next steps of a pod include Ready if the pod was ready and is not any more', () => {
    const steps = [step('Condition', 5, { target: 'Ready' })];
    const pod = makePod('a', { status: main({ state: { running: {} } }) });
    expect(nextOf(pod, { steps, sandboxes: [sandbox(2)] })).toEqual(['Condition Ready']);
  });

  it('the next steps of a terminating pod are only its stop steps, in any phase', () => {
    const pod = makePod('a', { status: { phase: 'Succeeded' } });
    expect(nextOf(pod, { ending: true })).toEqual(['Stop', 'CleanUp']);
    expect(nextOf(pod, { ending: true, steps: [step('Stop', 1)] })).toEqual(['CleanUp']);
  });
});

describe('noteConditions', () => {
  const marks = (conditions: readonly Condition[] | undefined, known: readonly PodStep[] = []): readonly unknown[] => {
    const marked: unknown[] = [];
    const journal = { steps: () => known, mark: (...what: unknown[]) => void marked.push(what) };
    noteConditions(journal, makePod('a'), conditions === undefined ? {} : { conditions: [...conditions] });
    return marked;
  };
  const noted = (target: string) => ['uid-a', 'Condition', { target }];

  it.each<[string, readonly Condition[] | undefined, readonly PodStep[], readonly unknown[]]>([
    ['nothing for a status without conditions', undefined, [], []],
    [
      'each of the three conditions that are true',
      ['Initialized', 'ContainersReady', 'Ready', 'PodScheduled', 'Own'].map((type) => condition(type, 1)),
      [],
      ['Initialized', 'ContainersReady', 'Ready'].map(noted),
    ],
    ['no condition that is false', [condition('Ready', 1, 'False')], [], []],
    [
      'no condition that was recorded at or after its transition',
      [condition('Ready', 1)],
      [step('Condition', 1, { target: 'Ready' })],
      [],
    ],
    [
      'a recorded condition that became true again',
      [condition('Ready', 2)],
      [step('Condition', 1, { target: 'Ready' })],
      [noted('Ready')],
    ],
    [
      'a condition if only other conditions or steps were recorded',
      [condition('Ready', 1)],
      [step('Condition', 2, { target: 'Initialized' }), step('Probe', 2, { target: 'Ready' })],
      [noted('Ready')],
    ],
  ])('noteConditions records %s', (_what, conditions, known, expected) => {
    expect(marks(conditions, known)).toEqual(expected);
  });
});
