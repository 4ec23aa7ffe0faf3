import type { Container, Pod } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { PodCgroups, runsOnce } from '../src/sync/pod-cgroups.ts';
import { emptyStatus, makePod, makeRuntimePod, PlainCgroups, recordEvents } from './fakes.ts';

const { signal } = new AbortController();
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function setUp(volumesOf: readonly string[] = []) {
  const cgroups = new PlainCgroups();
  const behaviour = { volumes: async (uid: string): Promise<boolean> => volumesOf.includes(uid) };
  const notAsked = (): Promise<never> => Promise.reject(new Error('not asked for'));
  const groups = new PodCgroups({
    cgroups,
    logger: silentLogger,
    recorder: recordEvents().recorder,
    activePods: () => [],
    runtime: {
      getPods: notAsked,
      getPodStatus: notAsked,
      syncPod: notAsked,
      killPod: notAsked,
      status: notAsked,
      containerEnded: () => {},
      forget: () => {},
    },
    volumes: {
      start: notAsked,
      makePodDataDirs: notAsked,
      waitForAttachAndMount: notAsked,
      waitForUnmount: notAsked,
      podVolumesExist: (uid) => behaviour.volumes(uid),
      cleanupOrphanedPodDirs: notAsked,
    },
  });
  const ends = (): string[] => cgroups.calls.filter((call) => !call.startsWith('qos'));
  return { groups, cgroups, behaviour, ends };
}

describe('cgroup of a pod', () => {
  test("a pod's cgroup that is unchanged since the last sync is not ensured again; otherwise it is checked and ensured", async () => {
    const { groups, cgroups } = setUp();
    const pod = makePod('a');
    let isEnsured = true;
    Object.assign(cgroups, { isEnsured: async () => isEnsured });
    const ensure = () => groups.ensure(pod, emptyStatus(pod), () => Promise.reject(new Error('not asked for')), signal);
    expect(await ensure()).toEqual(emptyStatus(pod));
    expect(cgroups.calls).toEqual([]);
    isEnsured = false;
    await ensure();
    expect(cgroups.calls).toEqual([`ensure ${pod.metadata.uid}`, 'qos ']);
  });
});

describe('cgroups of terminated pods', () => {
  const pod = makePod('a');
  const { uid } = pod.metadata;
  const sandboxes = makeRuntimePod(uid).sandboxes.map((one) => ({ ...one, ips: [], hostNetwork: false }));
  const ignored = (): Promise<void> => Promise.resolve();

  test.each<[string, { readonly had?: boolean; readonly used?: boolean; readonly ran?: boolean }, readonly string[]]>([
    ['a pod that has nothing', {}, []],
    ['a pod whose cgroup an earlier kubelet left', { had: true }, [`destroy ${uid}`]],
    ['a pod that this kubelet synced', { used: true }, [`destroy ${uid}`]],
    ['a pod with a sandbox', { ran: true }, [`destroy ${uid}`]],
  ])('the cgroup of a terminated pod is removed only if the pod may have one (%s)', async (_what, given, calls) => {
    const { groups, cgroups } = setUp();
    if (given.had) cgroups.groups.add(uid);
    // Another pod's termination lists the cgroups before this pod is synced.
    await groups.destroy('other', emptyStatus(pod), signal);
    if (given.used) await groups.ensure(pod, emptyStatus(pod), ignored, signal);
    await groups.destroy(uid, emptyStatus(pod, given.ran ? { sandboxes } : {}), signal);
    expect(cgroups.calls.filter((call) => call.startsWith('destroy'))).toEqual(calls);
  });

  test('cgroups are listed once for all terminated pods, and again after the list failed', async () => {
    const { groups, cgroups } = setUp();
    let lists = 0;
    cgroups.pods = async () => {
      lists += 1;
      if (lists === 1) throw new Error('EIO');
      return new Set();
    };
    for (const name of ['a', 'b', 'c']) await groups.destroy(name, emptyStatus(pod), signal);
    expect(lists).toBe(2);
    expect(cgroups.calls).toEqual(['destroy a']);
  });
});

describe('cgroups of orphaned pods', () => {
  test('K1: cgroups of unknown pods that a killed kubelet left are removed, and cgroups of known pods are kept', async () => {
    const { groups, cgroups, ends } = setUp();
    for (const uid of ['left', 'known']) cgroups.groups.add(uid);
    await groups.refresh(signal);
    groups.removeOrphans((uid) => uid === 'known', signal);
    await turn();
    expect(ends()).toEqual(['destroy left']);
    expect([...cgroups.groups]).toEqual(['known']);
  });

  test('N5: the cgroup of an orphaned pod is kept with minimal CPU while the pod has volumes', async () => {
    const { groups, cgroups, ends } = setUp(['left']);
    cgroups.groups.add('left');
    await groups.refresh(signal);
    groups.removeOrphans(() => false, signal);
    await turn();
    expect(ends()).toEqual(['reduce left']);
  });

  test('P3: the cgroup of an orphaned pod is kept if the pod is added while the removal waits', async () => {
    const { groups, cgroups, behaviour, ends } = setUp();
    cgroups.groups.add('again');
    const known = new Set<string>();
    behaviour.volumes = async () => {
      known.add('again');
      return false;
    };
    await groups.refresh(signal);
    groups.removeOrphans((uid) => known.has(uid), signal);
    await turn();
    expect(ends()).toEqual([]);
  });

  test("W6: a hanging removal of an orphaned pod's cgroup is not started twice and delays no other removal", async () => {
    const { groups, cgroups, behaviour, ends } = setUp();
    for (const uid of ['hangs', 'other']) cgroups.groups.add(uid);
    behaviour.volumes = (uid) => (uid === 'hangs' ? new Promise<never>(() => {}) : Promise.resolve(false));
    for (let pass = 0; pass < 2; pass++) {
      await groups.refresh(signal);
      groups.removeOrphans(() => false, signal);
      await turn();
    }
    expect(ends()).toEqual(['destroy other']);
  });

  test("removal of an orphaned pod's cgroup is retried after it failed, and cgroups are listed again after the list failed", async () => {
    const { groups, cgroups, ends } = setUp();
    cgroups.groups.add('left');
    await groups.refresh(signal);
    cgroups.failure = new Error('busy');
    groups.removeOrphans(() => false, signal);
    await turn();
    await groups.refresh(signal);
    groups.removeOrphans(() => false, signal);
    await turn();
    cgroups.failure = undefined;
    await groups.refresh(signal);
    groups.removeOrphans(() => false, signal);
    await turn();
    expect(ends()).toEqual(['destroy left', 'destroy left']);
    expect([...cgroups.groups]).toEqual([]);
  });
});

describe('runsOnce', () => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [3] } }] as const;
  const spec = (restartPolicy: 'Always' | 'OnFailure' | 'Never', own: Partial<Container> = {}): Partial<Pod> => ({
    spec: { restartPolicy, containers: [{ name: 'c', image: 'i', ...own }] },
  });
  test.each([
    ['Always', spec('Always'), false],
    ['OnFailure', spec('OnFailure'), false],
    ['Never', spec('Never'), true],
    ['Never and a container with its own restartPolicy', spec('Never', { restartPolicy: 'OnFailure' }), false],
    [
      'Never and a container with restartPolicyRules',
      spec('Never', { restartPolicy: 'Never', restartPolicyRules: rules }),
      false,
    ],
  ])('a pod with restartPolicy %s runs only once: $2', (_name, overrides, expected) => {
    expect(runsOnce(makePod('a', overrides))).toBe(expected);
  });
});
