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

describe('steps from before this kubelet started', () => {
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
    ['nothing', {}, {}, []],
    ['when it was made', {}, { created: at(1) }, [step('Created', 1)]],
    ['no time that is none', { conditions: [{ type: 'PodScheduled', status: 'True' }] }, { created: 'long ago' }, []],
    ['no time that is 0', {}, { created: '1970-01-01T00:00:00Z' }, []],
    [
      'the conditions that came true',
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
      'no condition that is not true, and none of others',
      { conditions: [condition('PodScheduled', 2, 'False'), condition('Ready', 3, 'False'), condition('Own', 4)] },
      {},
      [],
    ],
    [
      'no condition that was noted: another that was does not keep it away',
      { conditions: [condition('Ready', 5), condition('Initialized', 3)] },
      { noted: [step('Condition', 6, { target: 'Ready' }), step('Probe', 4, { target: 'Initialized' })] },
      [
        step('Condition', 3, { target: 'Initialized' }),
        step('Probe', 4, { target: 'Initialized' }),
        step('Condition', 6, { target: 'Ready' }),
      ],
    ],
    [
      'its newest sandbox and what ran in it',
      {},
      { runtime: { sandboxes: [sandbox(2), sandbox(1, 'notReady')], containers: [container()] } },
      [
        step('Sandbox', 2),
        step('CreateContainer', 3, { target: 'main' }),
        step('StartContainer', 4, { target: 'main' }),
      ],
    ],
    [
      'nothing of these that was noted',
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
      'of each container the last attempt, and how it ended, also where the others were noted',
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
      'no end of a container of which the runtime does not know how it is',
      {},
      { runtime: { containers: [container({ state: 'unknown', createdAtMs: 0, startedAtMs: 0, finishedAtMs: T })] } },
      [],
    ],
  ])('is %s', (_what, status, more, expected) => {
    expect(stepsOf(status, more)).toEqual(expected);
  });
});

describe('next steps', () => {
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
    ['everything of the container', {}, [...START, 'Condition Ready']],
    ['its becoming ready, where it runs', main({ state: { running: {} } }), ['Condition Ready']],
    ['nothing, where it runs and is ready', { ...main({ state: { running: {} } }), conditions: [isReady] }, []],
    [
      'its becoming ready, where it was',
      { conditions: [condition('Ready', 5, 'False'), condition('Initialized', 1)] },
      [...START, 'Condition Ready'],
    ],
    ['nothing of a container that has ended', main({ state: { terminated: { exitCode: 0 } } }), ['Condition Ready']],
    ['nothing for a pod that has ended', { phase: 'Failed' }, []],
  ])('are %s if the sandbox is ready', (_what, ofPod, expected) => {
    expect(nextOf(makePod('a', { status: ofPod }), { sandboxes: [sandbox(2)] })).toEqual(expected);
  });

  it('include the sandbox if it is not ready or unknown', () => {
    const all = ['Admission', 'Cgroup', 'Volumes', 'Sandbox', ...START, 'Condition Ready'];
    expect(nextOf(makePod('a'))).toEqual(all);
    expect(nextOf(makePod('a'), { sandboxes: [sandbox(2, 'notReady')] })).toEqual(all);
  });

  it.each<[string, object | undefined, string | undefined, readonly string[]]>([
    [
      'has not begun',
      undefined,
      undefined,
      ['Image init', 'CreateContainer init', 'StartContainer init', 'ContainerEnded init'],
    ],
    ['runs', { running: {} }, undefined, ['ContainerEnded init']],
    ['has done its work', { terminated: { exitCode: 0 } }, undefined, []],
    [
      'has failed',
      { terminated: { exitCode: 1 } },
      undefined,
      ['Image init', 'CreateContainer init', 'StartContainer init', 'ContainerEnded init'],
    ],
    ['is a sidecar that runs', { running: {} }, 'Always', []],
    [
      'is a sidecar that has not begun',
      undefined,
      'Always',
      ['Image init', 'CreateContainer init', 'StartContainer init'],
    ],
  ])('of an init container that %s', (_what, state, restartPolicy, expected) => {
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
    ['what is done', [step('Image', 3, { target: 'main' })], START.slice(1)],
    ['what goes on', [{ step: 'Image', target: 'main', startedAtMs: T }], START.slice(1)],
    ['neither what failed', [step('Image', 3, { target: 'main', outcome: 'failed' })], START],
    ['nor what was done for another', [step('Image', 3, { target: 'side' })], START],
    [
      'nor what was done for the container before it ended',
      [step('Image', 3, { target: 'main' }), step('ContainerEnded', 4, { target: 'main' })],
      START,
    ],
    [
      'nor what was done for one that ended at once',
      [step('Image', 3, { target: 'main' }), step('ContainerEnded', 3, { target: 'main' })],
      START,
    ],
    [
      'but what was done since',
      [step('ContainerEnded', 2, { target: 'main' }), step('Image', 3, { target: 'main' })],
      START.slice(1),
    ],
  ])('omit %s', (_what, steps, expected) => {
    expect(nextOf(makePod('a'), { steps, sandboxes: [sandbox(2)] })).toEqual([...expected, 'Condition Ready']);
  });

  it('include becoming ready again', () => {
    const steps = [step('Condition', 5, { target: 'Ready' })];
    const pod = makePod('a', { status: main({ state: { running: {} } }) });
    expect(nextOf(pod, { steps, sandboxes: [sandbox(2)] })).toEqual(['Condition Ready']);
  });

  it('include only the stop steps for a terminating pod in any phase', () => {
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
    ['nothing of a status without conditions', undefined, [], []],
    [
      'each of three that came true',
      ['Initialized', 'ContainersReady', 'Ready', 'PodScheduled', 'Own'].map((type) => condition(type, 1)),
      [],
      ['Initialized', 'ContainersReady', 'Ready'].map(noted),
    ],
    ['none that is not true', [condition('Ready', 1, 'False')], [], []],
    [
      'none that was noted at or after its time',
      [condition('Ready', 1)],
      [step('Condition', 1, { target: 'Ready' })],
      [],
    ],
    [
      'one that was noted, and has come true again',
      [condition('Ready', 2)],
      [step('Condition', 1, { target: 'Ready' })],
      [noted('Ready')],
    ],
    [
      'one of which only others were noted',
      [condition('Ready', 1)],
      [step('Condition', 2, { target: 'Initialized' }), step('Probe', 2, { target: 'Ready' })],
      [noted('Ready')],
    ],
  ])('records %s', (_what, conditions, known, expected) => {
    expect(marks(conditions, known)).toEqual(expected);
  });
});
