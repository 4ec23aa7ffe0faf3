import { FakeClock } from '@node-agent/async/testing';
import { type Pod, podFullName } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { MirrorPods, type MirrorPodsComponents } from '../src/mirror-pods.ts';
import { mirrorPodOf, mirrorStep } from '../src/mirror-rules.ts';
import { PodManager } from '../src/pod-manager.ts';

const NODE = { name: 'n1', uid: 'node-uid' };

function staticPod(hash = 'h1', uid = 'static'): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash };
  return { metadata: { name: 'etcd-n1', namespace: 'kube-system', uid, annotations }, spec: { containers: [] } };
}

function mirrorPod(hash = 'h1', more: object = {}): Pod {
  const { metadata, ...rest } = mirrorPodOf(staticPod(hash), NODE);
  return { ...rest, metadata: { ...metadata, uid: `mirror-${hash}`, ...more } };
}

describe('mirrorStep', () => {
  const facts = {
    staticPod: staticPod(),
    mirrorPod: mirrorPod(),
    terminating: false,
    unfit: false,
    sourcesReady: true,
  };
  const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  test.each([
    ['none: the mirror pod shows the static pod', {}, 'none'],
    ['create: there is no mirror pod', { mirrorPod: undefined }, 'create'],
    ['F3: replace: the mirror pod shows an older manifest', { mirrorPod: mirrorPod('h0') }, 'replace'],
    ['F3: replace: a user has deleted the mirror pod', { mirrorPod: mirrorPod('h1', gone) }, 'replace'],
    ['F3: replace: the mirror pod cannot show that its static pod was restarted', { unfit: true }, 'replace'],
    [
      'F3: wait: the mirror pod cannot show a restart, and its static pod terminates',
      { unfit: true, terminating: true },
      'wait',
    ],
    [
      'F3: wait: the version that the mirror pod shows terminates',
      { mirrorPod: mirrorPod('h0'), terminating: true },
      'wait',
    ],
    ['F3: wait: the static pod was removed, and terminates', { staticPod: undefined, terminating: true }, 'wait'],
    ['F1: wait: a source may still report the static pod', { staticPod: undefined, sourcesReady: false }, 'wait'],
    ['delete: there is no static pod any more', { staticPod: undefined }, 'delete'],
    ['none: there is neither a static pod nor a mirror pod', { staticPod: undefined, mirrorPod: undefined }, 'none'],
  ] as const)('the next step for a mirror pod is %s', (_name, change, step) => {
    expect(mirrorStep({ ...facts, ...change })).toBe(step);
  });

  test('mirrorPodOf creates a pod that is owned by the node and has the hash of the manifest', () => {
    const { metadata, ...rest } = mirrorPodOf(staticPod('h7'), NODE);
    expect(rest).toEqual({ apiVersion: 'v1', kind: 'Pod', spec: { containers: [] } });
    expect(metadata.annotations?.['kubernetes.io/config.mirror']).toBe('h7');
    expect(metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true },
    ]);
  });
});

test('mirrorPodOf marks the pod as a mirror pod even if the static pod has no hash', () => {
  const { metadata, spec } = staticPod();
  const bare: Pod = { spec, metadata: { ...metadata, annotations: {} } };
  const mirror = mirrorPodOf(bare, NODE);
  expect(mirror.metadata.annotations).toEqual({ 'kubernetes.io/config.mirror': '' });
  const facts = { staticPod: bare, mirrorPod: mirror, terminating: false, unfit: false, sourcesReady: true };
  expect(mirrorStep(facts)).toBe('none');
});

/** Creates mirror pods with a fake API server, which fails on demand. */
function setUp(overrides: Partial<MirrorPodsComponents> = {}) {
  const clock = new FakeClock();
  const pods = new PodManager();
  const state = { calls: [] as string[], failWith: undefined as Error | undefined, node: true };
  const answer = async (call: string): Promise<void> => {
    state.calls.push(call);
    if (state.failWith) throw state.failWith;
  };
  const mirrors = new MirrorPods({
    clock,
    pods,
    logger: silentLogger,
    node: () => (state.node ? { metadata: NODE } : undefined),
    isTerminating: () => false,
    sourcesReady: () => true,
    api: {
      createPod: (pod) => answer(`create ${pod.metadata.annotations?.['kubernetes.io/config.mirror']}`),
      deletePod: (_namespace, _name, uid) => answer(`delete ${uid}`),
    },
    ...overrides,
  });
  const stop = new AbortController();
  const running = mirrors.start(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, pods, mirrors, end, state };
}

const FULL_NAME = podFullName(staticPod());

describe('mirror pods', () => {
  test('F3: mirror pods are created, recreated after a deletion, and replaced when the manifest changes', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(state.calls.splice(0)).toEqual(['create h1']);

    pods.addPod(mirrorPod('h1', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(state.calls.splice(0)).toEqual(['delete mirror-h1', 'create h1']);

    pods.addPod(mirrorPod('h1'));
    pods.addPod(staticPod('h2'));
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(state.calls.splice(0)).toEqual(['delete mirror-h1', 'create h2']);
    await end();
  });

  test('F3: mirror pods are replaced once if they cannot show their static pod any more', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    pods.addPod(staticPod());
    pods.addPod(mirrorPod());
    mirrors.replace(FULL_NAME, 'mirror-h1');
    await clock.advance(0);
    expect(state.calls.splice(0)).toEqual(['delete mirror-h1', 'create h1']);
    pods.removePod(mirrorPod());
    pods.addPod(mirrorPod('h1', { uid: 'mirror-2' }));
    mirrors.reconcile(FULL_NAME);
    mirrors.replace(FULL_NAME, 'mirror-h1');
    await clock.advance(60_000);
    expect(state.calls).toEqual([]);
    await end();
  });

  test('mirror pods without a static pod are deleted once the static pod has terminated', async () => {
    let terminating = true;
    const { clock, pods, mirrors, end, state } = setUp({ isTerminating: () => terminating });
    pods.addPod(mirrorPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(5000);
    expect(state.calls).toEqual([]);
    terminating = false;
    await clock.advance(1000);
    expect(state.calls).toEqual(['delete mirror-h1']);
    await end();
  });

  test('F3: a mirror pod of an older manifest is replaced when the new version may start, and isTerminating gets the UID of that version', async () => {
    const asked: (string | undefined)[] = [];
    let terminating = true;
    const isTerminating = (_fullName: string, next: string | undefined): boolean => {
      asked.push(next);
      return terminating;
    };
    const { clock, pods, mirrors, end, state } = setUp({ isTerminating });
    pods.addPod(mirrorPod('h0'));
    pods.addPod(staticPod('h1'));
    mirrors.reconcile(FULL_NAME);
    await clock.advance(5000);
    expect(state.calls).toEqual([]);
    expect(new Set(asked)).toEqual(new Set([staticPod('h1').metadata.uid]));
    terminating = false;
    await clock.advance(1000);
    expect(state.calls).toEqual(['delete mirror-h0', 'create h1']);
    await end();
  });

  test('requests for mirror pods are retried with growing delays up to 10 s, and a change of the pod does not shorten a delay', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    state.failWith = Object.assign(new Error('away'), { code: 'ConnectionFailed' });
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    mirrors.reconcile(FULL_NAME);
    await clock.advance(500);
    expect(state.calls).toHaveLength(1);
    await clock.advance(60_000);
    expect(state.calls).toHaveLength(9);
    state.failWith = undefined;
    await clock.advance(10_000);
    expect(state.calls).toHaveLength(10);
    pods.addPod(mirrorPod());
    await clock.advance(60_000);
    expect(state.calls).toHaveLength(10);
    await end();
  });

  test('F3: mirror pods are created again if the watch never shows them, because the API server has lost them', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(9_999);
    expect(state.calls).toEqual(['create h1']);
    await clock.advance(1);
    expect(state.calls).toEqual(['create h1', 'create h1']);
    pods.addPod(mirrorPod());
    await clock.advance(60_000);
    expect(state.calls).toHaveLength(2);
    await end();
  });

  test('mirror pods are checked less and less often while the watch is outdated, and immediately after a change', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    state.failWith = Object.assign(new Error('gone'), { code: 'NotFound' });
    pods.addPod(mirrorPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(60_000);
    expect(state.calls).toHaveLength(9);
    pods.addPod(staticPod('h2'));
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(state.calls).toHaveLength(10);
    pods.removePod(mirrorPod());
    state.failWith = undefined;
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(state.calls.at(-1)).toBe('create h2');
    await end();
  });

  test('mirror pods that already exist are not created, and are checked again after the watch shows them', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    state.failWith = Object.assign(new Error('there'), { code: 'AlreadyExists' });
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    pods.addPod(mirrorPod());
    await clock.advance(60_000);
    expect(state.calls).toEqual(['create h1']);
    await end();
  });

  test('a warning is logged once if another pod has the name of a mirror pod', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    const { clock, pods, mirrors, end, state } = setUp({ logger });
    state.failWith = Object.assign(new Error('there'), { code: 'AlreadyExists' });
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(5_000);
    expect(warnings).toEqual([]);
    await clock.advance(60_000);
    expect(warnings).toEqual(['Mirror pod is blocked by another pod of the same name']);
    await end();
  });

  test('K3: a mirror pod whose creation hangs delays no other, and is requested once at a time', async () => {
    const asked: string[] = [];
    const hung: (() => void)[] = [];
    const createPod = async ({ metadata: { namespace } }: Pod): Promise<void> => {
      asked.push(namespace);
      if (namespace === 'hangs') await new Promise<void>((resolve) => hung.push(resolve));
    };
    const { clock, pods, mirrors, end } = setUp({ api: { createPod, deletePod: async () => {} } });
    const { metadata, spec } = staticPod();
    const other = { metadata: { ...metadata, namespace: 'hangs', uid: 'other' }, spec };
    pods.addPod(other);
    pods.addPod(staticPod());
    mirrors.reconcile(podFullName(other));
    mirrors.reconcile(FULL_NAME);
    await clock.advance(0);
    expect(asked.splice(0)).toEqual(['hangs', 'kube-system']);
    for (let news = 0; news < 3; news++) {
      mirrors.reconcile(podFullName(other));
      await clock.advance(0);
    }
    expect(asked).toEqual([]);
    hung.shift()?.();
    await clock.advance(0);
    expect(asked).toEqual(['hangs']);
    hung.shift()?.();
    await clock.advance(9_999);
    expect(asked).toEqual(['hangs']);
    await end();
  });

  test('mirror pods wait for the Node object that will own them', async () => {
    const { clock, pods, mirrors, end, state } = setUp();
    state.node = false;
    pods.addPod(staticPod());
    mirrors.reconcile(FULL_NAME);
    await clock.advance(3000);
    expect(state.calls).toEqual([]);
    state.node = true;
    await clock.advance(1000);
    expect(state.calls).toEqual(['create h1']);
    await end();
  });
});
