import type { Pod, PodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { inBatches, merged } from '../src/batches.ts';
import { type Case, topics } from '../src/cases/index.ts';
import { compare } from '../src/compare.ts';
import { report } from '../src/report.ts';
import type { Found } from '../src/side.ts';

const spec = { containers: [{ name: 'main', image: 'busybox' }] };
const web = { name: 'web', spec };
const event = {
  involvedObject: { name: 'web', fieldPath: 'spec.containers{main}' },
  type: 'Normal',
  reason: 'Started',
};

function found(side: string, status: PodStatus, overrides: Partial<Found> = {}): Found {
  const pod: Pod = { metadata: { name: 'web', namespace: side, uid: side }, spec, status };
  return {
    names: { [side]: '<side>' },
    pods: [pod],
    events: [{ ...event, message: `on ${side}` }],
    runtime: new Map([['web/main', { config: { labels: { namespace: side } } }]]),
    storage: new Map(),
    node: { status: { conditions: [{ type: 'Ready' }] } },
    ...overrides,
  };
}

const runningSince = (lastTransitionTime: string): PodStatus => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
});
const running = runningSince('2026-01-01T00:00:00Z');

describe('compare', () => {
  test('compare finds no difference between sides that differ only in names and times', () => {
    const { differences, values } = compare(
      [web],
      found('go-side', running),
      found('our-side', runningSince('2027-01-01T00:00:00Z')),
    );
    expect(differences).toEqual([]);
    expect(values).toBe(8);
  });

  test('compare names the pod and the path of each difference', () => {
    const go = found('go-side', running);
    const ours = found('our-side', { ...running, phase: 'Pending' }, { events: [], runtime: new Map() });
    const places = compare([web], go, ours).differences.map(({ of, path }) => `${of}: ${path}`);
    expect(places).toEqual([
      'web: status.phase',
      'web: events.spec.containers{main} Normal Started: on <side>',
      'web: runtime.web/main',
    ]);
  });

  test('compare names the file of a CSI volume that differs', () => {
    const storage = (mode: string) => ({ storage: new Map([['web', { disk: { mount: mode } }]]) });
    const go = found('go-side', running, storage('directory 2775 0:4321'));
    const { differences } = compare([web], go, found('our-side', running, storage('directory 755 0:0')));
    expect(differences.map(({ path }) => path)).toEqual(['csi.disk.mount']);
  });

  test('compare reports all values of a pod that one side does not have', () => {
    const none = found('our-side', {}, { pods: [], events: [], runtime: new Map() });
    const { differences } = compare([web], found('go-side', running), none);
    expect(differences.map(({ path }) => path)).toContain('status.phase');
  });

  test('compare ignores values of a looping container that depend on timing', () => {
    const looping = (state: object, restartCount: number, exitCode: number): PodStatus => ({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: restartCount % 2 === 0 ? 'True' : 'False' }],
      containerStatuses: [
        {
          ...{ name: 'main', image: 'busybox', imageID: '', ready: false, restartCount, state },
          lastState: { terminated: { exitCode, reason: 'Error' } },
        },
      ],
    });
    const loop = { ...web, loops: ['main'] };
    const go = found('go-side', looping({ running: {} }, 2, 7));
    expect(compare([loop], go, found('our-side', looping({ waiting: {} }, 3, 7))).differences).toEqual([]);
    const other = compare([loop], go, found('our-side', looping({ running: {} }, 2, 8))).differences;
    expect(other.map(({ path }) => path)).toEqual(['status.containerStatuses.0.ended.exitCode']);
  });

  test('report counts intended differences, and shows them only on request', () => {
    const version = (kubeletVersion: string) => ({ node: { status: { nodeInfo: { kubeletVersion } } } });
    const go = found('go-side', running, version('v1'));
    const comparison = compare([web], go, found('our-side', running, version('v1+x')));
    expect(report(comparison, false)).toBe('1 pods, 8 values: 0 unexpected and 1 intended differences\n');
    expect(report(comparison, true)).toContain(
      'node: status.nodeInfo.kubeletVersion\n  Go:   "v1"\n  here: "v1+x"\n  (',
    );
  });
});

describe('inBatches and merged', () => {
  const named = (...names: readonly string[]): readonly Case[] => names.map((name) => ({ name, spec }));

  test.each<[topics: readonly (readonly string[])[], expected: readonly (readonly string[])[]]>([
    [[], []],
    [[[], ['a']], [['a']]],
    [
      [['a'], ['b', 'c'], ['d']],
      [['a', 'b', 'c'], ['d']],
    ],
    [
      [['a', 'b', 'c', 'd'], ['e']],
      [['a', 'b', 'c', 'd'], ['e']],
    ],
  ])('inBatches groups topics into batches of at most 3 cases without splitting a topic: %j', (given, expected) => {
    const batches = inBatches(
      given.map((names) => named(...names)),
      3,
    );
    expect(batches.map((batch) => batch.map(({ name }) => name))).toEqual(expected);
  });

  test('merged contains the pods of all batches with their events, and the node of the last batch', () => {
    const end = { ...event, reason: 'Killing' };
    const ofNode = (reason: string) => ({ involvedObject: { name: 'side' }, reason });
    const other: Pod = { metadata: { name: 'other', namespace: 'side', uid: 'u' }, spec };
    const first = found('side', running, {
      events: [event, ofNode('Early')],
      storage: new Map([['web', { disk: {} }]]),
    });
    const second = found(
      'side',
      {},
      {
        ...{ pods: [other], events: [end, ofNode('Late')], node: { status: { x: 1 } } },
        runtime: new Map([['other', null]]),
      },
    );
    const { pods, events, runtime, storage, node } = merged([first, second]);
    expect([...storage.keys()]).toEqual(['web']);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web', 'other']);
    expect(events.map(({ reason }) => reason)).toEqual(['Started', 'Late']);
    expect([...runtime.keys()]).toEqual(['web/main', 'other']);
    expect(node).toEqual({ status: { x: 1 } });
    expect(() => merged([])).toThrow('merge batches: no batch');
  });
});

const cases = topics.flat();

test('all cases have different names', () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});
