import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OperationEffect } from '../src/errors.ts';
import { presenceAfterFailure } from '../src/manager/failed-presence.ts';
import {
  type NodeVolumeState,
  type NodeVolumeStep,
  nextNodeVolumeStep,
  nodeVolumeUse,
} from '../src/manager/node-volume-state.ts';
import { nextVolumeStep, type VolumeState } from '../src/manager/volume-state.ts';

const idle: NodeVolumeState = {
  wanted: true,
  inPods: true,
  presence: 'staged',
  attached: true,
  busy: false,
  retryAtMs: undefined,
};

describe('nextNodeVolumeStep', () => {
  const table: [Partial<NodeVolumeState>, NodeVolumeStep][] = [
    [{}, 'none'],
    [{ inPods: false }, 'none'],
    [{ presence: 'absent' }, 'stage'],
    [{ presence: 'absent', inPods: false }, 'stage'],
    [{ presence: 'uncertain' }, 'stage'],
    [{ wanted: false }, 'none'],
    [{ wanted: false, presence: 'uncertain' }, 'none'],
    [{ wanted: false, presence: 'absent' }, 'none'],
    [{ wanted: false, inPods: false }, 'unstage'],
    [{ wanted: false, inPods: false, presence: 'uncertain' }, 'unstage'],
    [{ wanted: false, inPods: false, presence: 'absent' }, 'forget'],
    [{ presence: 'absent', busy: true }, 'none'],
    [{ wanted: false, inPods: false, busy: true }, 'none'],
    [{ wanted: false, inPods: false, presence: 'absent', busy: true }, 'none'],
    [{ presence: 'absent', retryAtMs: 11 }, 'wait'],
    [{ presence: 'absent', retryAtMs: 10 }, 'stage'],
    [{ wanted: false, inPods: false, retryAtMs: 11 }, 'wait'],
    [{ wanted: false, inPods: false, presence: 'absent', retryAtMs: 11 }, 'forget'],
    [{ retryAtMs: 11 }, 'none'],
    [{ presence: 'absent', attached: false }, 'attach'],
    [{ presence: 'uncertain', attached: false }, 'attach'],
    [{ presence: 'uncertain', attached: false, retryAtMs: 11 }, 'attach'],
    [{ presence: 'staged', attached: false }, 'none'],
    [{ wanted: false, inPods: false, attached: false }, 'unstage'],
    [{ isOtherwise: true }, 'none'],
    [{ isOtherwise: true, inPods: false }, 'unstage'],
    [{ isOtherwise: true, inPods: false, retryAtMs: 11 }, 'wait'],
    [{ isOtherwise: true, presence: 'uncertain' }, 'stage'],
    [{ isOtherwise: true, presence: 'uncertain', isLeaving: true }, 'none'],
    [{ isOtherwise: true, isLeaving: true }, 'none'],
    [{ presence: 'uncertain', isLeaving: true }, 'stage'],
    [{ isOtherwise: true, presence: 'uncertain', inPods: false }, 'unstage'],
    [{ wanted: false, inPods: false, presence: 'absent', attached: false }, 'forget'],
    [{ presence: 'absent', attached: false, busy: true }, 'none'],
  ];
  it.each(table)('a node volume in the state %j at 10 ms: the next step is %s', (change, step) => {
    expect(nextNodeVolumeStep({ ...idle, ...change }, 10)).toBe(step);
  });
});

it.each<['absent' | 'uncertain', OperationEffect, boolean, 'absent' | 'uncertain']>([
  ['absent', 'unchanged', false, 'absent'],
  ['uncertain', 'unchanged', false, 'uncertain'],
  ['uncertain', 'unchanged', true, 'uncertain'],
  ['absent', 'unknown', false, 'uncertain'],
  ['uncertain', 'unknown', false, 'uncertain'],
  ['uncertain', 'unknown', true, 'uncertain'],
  ['absent', 'none', false, 'absent'],
  ['uncertain', 'none', false, 'absent'],
  ['uncertain', 'none', true, 'uncertain'],
])(
  'V3: a volume that was %s, after a failure with effect %s (found on disk: %s), is %s',
  (before, effect, found, after) => {
    expect(presenceAfterFailure(before, effect, found)).toBe(after);
  },
);

describe('nodeVolumeUse', () => {
  it.each<[Pick<VolumeState, 'wanted' | 'presence'>, boolean, boolean]>([
    [{ wanted: true, presence: 'absent' }, true, false],
    [{ wanted: true, presence: 'uncertain' }, true, true],
    [{ wanted: true, presence: 'ready' }, true, true],
    [{ wanted: false, presence: 'ready' }, false, true],
    [{ wanted: false, presence: 'uncertain' }, false, true],
    [{ wanted: false, presence: 'absent' }, false, false],
    [{ wanted: undefined, presence: 'uncertain' }, false, true],
  ])(
    "a pod's volume in the state %j needs its node volume staged: %s, and may have it mounted: %s",
    (state, wanted, inPods) => {
      expect(nodeVolumeUse(state)).toEqual({ wanted, inPods });
    },
  );
});

/** The state of a volume on the machine. */
type There = 'no' | 'part' | 'all';
interface Level<Operation> {
  there: There;
  running: Operation | undefined;
}
interface PodLevel extends Level<'setUp' | 'tearDown'> {
  wanted: boolean | undefined;
  presence: VolumeState['presence'];
}

/**
 * Model of one disk and three pods, driven by both state tables. The test decides when an operation ends; a crash ends
 * all operations.
 */
class Model {
  readonly pods: PodLevel[] = [0, 1, 2].map(() => ({
    there: 'no',
    running: undefined,
    wanted: false,
    presence: 'absent',
  }));
  readonly node: Level<'stage' | 'unstage'> & { presence: NodeVolumeState['presence'] } = {
    there: 'no',
    running: undefined,
    presence: 'absent',
  };
  /** Indices of the pods that should exist, even if the kubelet process has not been notified of them. */
  readonly desired = new Set<number>();

  /** Starts all due operations on both levels. */
  step(): void {
    const { node } = this;
    const nodeState = (): NodeVolumeState => ({
      wanted: this.pods.some((pod) => nodeVolumeUse(pod).wanted),
      inPods: this.pods.some((pod) => nodeVolumeUse(pod).inPods),
      presence: node.presence,
      attached: true,
      busy: node.running !== undefined,
      retryAtMs: undefined,
    });
    const nodeStep = nextNodeVolumeStep(nodeState(), 0);
    if (nodeStep === 'stage' || nodeStep === 'unstage') this.#beginNode(nodeStep);
    for (const pod of this.pods) {
      const level = node.presence === 'staged' ? 'staged' : 'notStaged';
      const busy = pod.running !== undefined;
      const state: VolumeState = { ...pod, node: level, stale: false, busy, retryAtMs: undefined };
      const step = nextVolumeStep(state, 0);
      if (step === 'setUp' || step === 'tearDown') this.#beginPod(pod, step);
    }
  }

  #beginNode(step: 'stage' | 'unstage'): void {
    const { node, pods } = this;
    expect(node.running).toBeUndefined();
    if (step === 'unstage') {
      // The volume must be reported in use before its first mount, and until its last mount is removed.
      expect(pods.map(({ there, running, wanted }) => [there, running, wanted === true])).toEqual(
        pods.map(() => ['no', undefined, false]),
      );
    }
    node.running = step;
    node.presence = 'uncertain';
    if (node.there === 'no' || step === 'unstage') node.there = 'part';
  }

  #beginPod(pod: PodLevel, step: 'setUp' | 'tearDown'): void {
    expect(pod.running).toBeUndefined();
    if (step === 'setUp') expect([this.node.there, this.node.running]).toEqual(['all', undefined]);
    pod.running = step;
    if (pod.presence !== 'ready' || step === 'tearDown') pod.presence = 'uncertain';
    if (pod.there === 'no' || step === 'tearDown') pod.there = 'part';
  }

  endNode(succeeds: boolean): void {
    const { node } = this;
    if (node.running !== undefined && succeeds) {
      node.there = node.running === 'stage' ? 'all' : 'no';
      node.presence = node.running === 'stage' ? 'staged' : 'absent';
    }
    node.running = undefined;
  }

  endPod(pod: PodLevel, succeeds: boolean): void {
    if (pod.running !== undefined && succeeds) {
      pod.there = pod.running === 'setUp' ? 'all' : 'no';
      pod.presence = pod.running === 'setUp' ? 'ready' : 'absent';
    }
    pod.running = undefined;
  }

  /** Kills the kubelet process. The next process knows only the state of the machine. */
  crash(): void {
    for (const pod of this.pods) {
      pod.running = undefined;
      pod.wanted = pod.there === 'no' ? false : undefined;
      pod.presence = pod.there === 'no' ? 'absent' : 'uncertain';
    }
    this.node.running = undefined;
    this.node.presence = this.node.there === 'no' ? 'absent' : 'uncertain';
  }

  /** Notifies the kubelet process whether a pod should exist. */
  hear(index: number): void {
    const pod = this.pods[index];
    if (pod !== undefined) pod.wanted = this.desired.has(index);
  }
}

const index = fc.integer({ min: 0, max: 2 });
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom('comes', 'goes', 'heard'), index }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constantFrom('ends', 'fails'), index: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('crash'), index }) },
);

describe('staging on the node together with setup in pods', () => {
  it('K1: a volume is marked in use before staging, unstaged after its last pod, has one operation at a time, and converges after a crash at any step', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const model = new Model();
        for (const { what, index: at } of events) {
          const pod = model.pods[at];
          if (what === 'comes') model.desired.add(at);
          if (what === 'goes') model.desired.delete(at);
          if (what === 'comes' || what === 'goes' || what === 'heard') model.hear(at);
          if (what === 'crash') model.crash();
          if (what === 'ends' || what === 'fails') {
            if (pod === undefined) model.endNode(what === 'ends');
            else model.endPod(pod, what === 'ends');
          }
          model.step();
        }
        for (const at of model.pods.keys()) model.hear(at);
        for (let round = 0; round < 6; round++) {
          model.step();
          model.endNode(true);
          for (const pod of model.pods) model.endPod(pod, true);
        }
        expect(model.pods.map(({ there }) => there)).toEqual(
          model.pods.map((_pod, at) => (model.desired.has(at) ? 'all' : 'no')),
        );
        expect(model.node.there).toBe(model.desired.size > 0 ? 'all' : 'no');
      }),
    );
  });
});
