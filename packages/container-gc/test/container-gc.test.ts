import { FakeClock } from '@node-agent/async/testing';
import {
  type Container,
  ContainerState,
  messages,
  type PodSandbox,
  PodSandboxState,
  type StopContainerRequest,
} from '@node-agent/cri-client';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { RuntimePodStatus } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ContainerGc, type ContainerGcOptions } from '../src/container-gc.ts';

const clock = new FakeClock();
const { signal } = new AbortController();
const ready = { allSourcesReady: true, evictNonDeletedPods: false };
const { CONTAINER_EXITED, CONTAINER_RUNNING, CONTAINER_UNKNOWN } = ContainerState;

let fs: MemoryFileSystem;
let containers: Container[];
let sandboxes: PodSandbox[];
let told: string[];
let calls: string[];
/** The number of ListContainers and ListPodSandbox calls. */
let lists: { containers: number; sandboxes: number };
let failing: Set<string>;
let gone: Set<string>;
let evicted: Set<string>;
/** Functions that run during a call, by the name of the call. */
let whenCalled: Map<string, () => void>;

beforeEach(() => {
  fs = new MemoryFileSystem({ clock });
  [containers, sandboxes, calls, told] = [[], [], [], []];
  lists = { containers: 0, sandboxes: 0 };
  [failing, gone, evicted] = [new Set(), new Set(), new Set()];
  whenCalled = new Map();
});

function called(call: string): void {
  calls.push(call);
  whenCalled.get(call)?.();
  if (failing.has(call)) throw new Error(`${call} failed`);
}

function makeGc(
  options: ContainerGcOptions = {},
  hasNeverRun?: (containerId: string) => Promise<boolean>,
): ContainerGc {
  return new ContainerGc(
    {
      cri: {
        listContainers: async () => {
          lists.containers += 1;
          if (failing.has('listContainers')) throw new Error('listContainers failed');
          return { containers: [...containers] };
        },
        listPodSandbox: async () => {
          lists.sandboxes += 1;
          return { items: [...sandboxes] };
        },
        stopContainer: async ({ containerId, timeout }: Partial<StopContainerRequest>) => {
          called(`stop ${containerId} ${timeout}`);
          return {};
        },
        stopPodSandbox: async ({ podSandboxId }) => {
          called(`stopSandbox ${podSandboxId}`);
          return {};
        },
        removePodSandbox: async ({ podSandboxId }) => {
          called(`removeSandbox ${podSandboxId}`);
          sandboxes = sandboxes.filter(({ id }) => id !== podSandboxId);
          return {};
        },
      },
      runtime: {
        removeContainer: async (id) => {
          called(`remove ${id}`);
          containers = containers.filter((container) => container.id !== id);
        },
        ...(hasNeverRun && { hasNeverRun }),
      },
      pods: {
        shouldPodContentBeRemoved: (uid) => gone.has(uid) || evicted.has(uid),
        shouldPodRuntimeBeRemoved: (uid) => gone.has(uid),
      },
      sandboxRemoved: (uid) => void told.push(uid),
      fs,
      clock,
      logger: silentLogger,
    },
    options,
  );
}

function addContainer(id: string, createdAt: number, state: ContainerState = CONTAINER_EXITED, uid = 'uid-1'): void {
  containers.push(
    messages.Container.create({
      id,
      podSandboxId: `sandbox-${uid}`,
      metadata: { name: 'app', attempt: createdAt },
      state,
      createdAt,
      labels: uid === '' ? {} : { 'io.kubernetes.pod.uid': uid },
      annotations: { 'io.kubernetes.pod.terminationGracePeriod': '7' },
    }),
  );
}

function addSandbox(id: string, uid = 'uid-1', state: PodSandboxState = PodSandboxState.SANDBOX_NOTREADY): void {
  sandboxes.push(messages.PodSandbox.create({ id, metadata: { uid }, state, createdAt: sandboxes.length }));
}

describe('garbageCollect', () => {
  it('removes dead containers, and then the sandboxes that they were in', async () => {
    gone.add('uid-1');
    addContainer('old', 1);
    addContainer('new', 2);
    addSandbox('sandbox-uid-1');
    await makeGc().garbageCollect(ready, signal);
    expect(calls).toEqual(['remove old', 'remove new', 'stopSandbox sandbox-uid-1', 'removeSandbox sandbox-uid-1']);
  });

  it('keeps a sandbox if one of its containers could not be removed', async () => {
    gone.add('uid-1');
    addContainer('stuck', 1);
    addSandbox('sandbox-uid-1');
    failing.add('remove stuck');
    await makeGc().garbageCollect(ready, signal);
    expect(calls).toEqual(['remove stuck']);
  });

  it('stops a container in an unknown state before removing it, and keeps it if it cannot be stopped', async () => {
    gone.add('uid-1');
    addContainer('lost', 1, CONTAINER_UNKNOWN);
    addContainer('hung', 2, CONTAINER_UNKNOWN);
    failing.add('stop hung 7');
    await makeGc().garbageCollect(ready, signal);
    expect(calls).toEqual(['stop lost 7', 'remove lost', 'stop hung 7']);
  });

  it('C2, C3: keeps the record of the last exit even if newer dead containers never ran or may never have run', async () => {
    const unrun = new Set(['broken-off', 'again']);
    const gc = makeGc({}, async (id) => {
      called(`ask ${id}`);
      return unrun.has(id);
    });
    for (const [at, id] of ['older', 'ended', 'again', 'broken-off'].entries()) addContainer(id, at);
    addContainer('alone', 1, CONTAINER_EXITED, 'uid-2');
    addContainer('of the gone', 1, CONTAINER_EXITED, 'uid-3');
    addContainer('another of the gone', 2, CONTAINER_EXITED, 'uid-3');
    gone.add('uid-3');
    failing.add('ask broken-off');
    await gc.garbageCollect(ready, signal);
    const removed = ['remove older', 'remove of the gone', 'remove another of the gone'];
    expect(calls.filter((call) => call.startsWith('ask'))).toEqual(['ask broken-off', 'ask again', 'ask ended']);
    expect(calls.filter((call) => call.startsWith('remove ')).toSorted()).toEqual(
      ['remove again', ...removed].toSorted(),
    );
  });

  it('ignores containers of other creators and their sandboxes', async () => {
    gone.add('');
    addContainer('foreign', 1, CONTAINER_EXITED, '');
    addSandbox('sandbox-');
    addSandbox('newer');
    await makeGc({ policy: { maxPerPodContainer: 0 } }).garbageCollect(ready, signal);
    expect(calls).toEqual([]);
  });

  it('K4: reports removed sandboxes, but no sandbox that could not be removed', async () => {
    gone.add('uid-1').add('uid-2').add('uid-3');
    for (const uid of gone) addSandbox(`sandbox-${uid}`, uid);
    failing.add('stopSandbox sandbox-uid-1').add('removeSandbox sandbox-uid-3');
    await makeGc().garbageCollect(ready, signal);
    expect(told).toEqual(['uid-2']);
  });

  it('continues after a sandbox that cannot be stopped', async () => {
    addSandbox('1');
    addSandbox('2');
    addSandbox('3');
    failing.add('stopSandbox 1');
    await makeGc().garbageCollect(ready, signal);
    expect(calls).toEqual(['stopSandbox 1', 'stopSandbox 2', 'removeSandbox 2']);
  });

  it('P3: keeps a ready sandbox if a pod with its UID came back during earlier removals', async () => {
    gone.add('uid-1').add('uid-2').add('uid-3');
    for (const uid of gone) addSandbox(`sandbox-${uid}`, uid, PodSandboxState.SANDBOX_READY);
    whenCalled.set('stopSandbox sandbox-uid-1', () => void gone.delete('uid-2'));
    await makeGc().garbageCollect(ready, signal);
    expect(calls).toEqual(
      ['1', '3'].flatMap((n) => [`stopSandbox sandbox-uid-${n}`, `removeSandbox sandbox-uid-${n}`]),
    );
    expect(sandboxes.map(({ id }) => id)).toEqual(['sandbox-uid-2']);
  });

  it('keeps the logs of an evicted pod until the pod has terminated', async () => {
    evicted.add('a');
    await fs.mkdir('/var/log/pods/ns_web_a');
    await makeGc().garbageCollect(ready, signal);
    expect(await fs.exists('/var/log/pods/ns_web_a')).toBe(true);
    gone.add('a');
    await makeGc().garbageCollect(ready, signal);
    expect(await fs.exists('/var/log/pods/ns_web_a')).toBe(false);
  });

  it('removes logs of removed pods if every pod source is ready, and no other directories', async () => {
    gone.add('gone');
    for (const name of ['ns_web_gone', 'ns_web_here', 'gone', 'a_b_c_gone'])
      await fs.mkdir(`/var/log/pods/${name}/app`);
    await fs.writeFile('/var/log/pods/ns_file_gone', '');
    await makeGc().garbageCollect({ ...ready, allSourcesReady: false }, signal);
    expect(await fs.exists('/var/log/pods/ns_web_gone')).toBe(true);
    await makeGc().garbageCollect(ready, signal);
    const left = (await fs.readdir('/var/log/pods')).map(({ name }) => name);
    expect(left.sort()).toEqual(['a_b_c_gone', 'gone', 'ns_file_gone', 'ns_web_here']);
  });

  it('treats undefined options as absent', async () => {
    gone.add('gone');
    await fs.mkdir('/var/log/pods/ns_web_gone');
    const options = { policy: undefined, podLogsDirectory: undefined, containerLogsDirectory: undefined };
    await makeGc(options as object).garbageCollect(ready, signal);
    expect(await fs.exists('/var/log/pods/ns_web_gone')).toBe(false);
  });

  it('removes dangling links, but not while their log is being rotated', async () => {
    addContainer('c1', 1, CONTAINER_RUNNING);
    addContainer('c2', 2, CONTAINER_EXITED);
    await fs.mkdir('/var/log/containers');
    await fs.mkdir('/logs');
    await fs.writeFile('/logs/here.log', '');
    const links = {
      'running.log': '/var/log/pods/ns_web_uid-1/app/1.log',
      'exited.log': '/var/log/pods/ns_web_uid-1/app/2.log',
      'removed.log': '/var/log/pods/ns_web_uid-1/app/0.log',
      'here.log': '/logs/here.log',
      'other.txt': '/nowhere',
    };
    for (const [name, target] of Object.entries(links)) await fs.symlink(target, `/var/log/containers/${name}`);
    await fs.writeFile('/var/log/containers/file.log', '');
    await makeGc().garbageCollect(ready, signal);
    const left = (await fs.readdir('/var/log/containers')).map(({ name }) => name);
    expect(left.sort()).toEqual(['file.log', 'here.log', 'other.txt', 'running.log']);
  });

  it('lists containers and sandboxes only once if there is nothing to remove', async () => {
    addContainer('c1', 1, CONTAINER_RUNNING);
    addSandbox('sandbox-uid-1', 'uid-1', PodSandboxState.SANDBOX_READY);
    await fs.mkdir('/var/log/containers');
    await fs.mkdir('/var/log/pods/ns_web_uid-1/app');
    await fs.writeFile('/var/log/pods/ns_web_uid-1/app/1.log', '');
    await fs.symlink('/var/log/pods/ns_web_uid-1/app/1.log', '/var/log/containers/running.log');
    await makeGc().garbageCollect(ready, signal);
    expect(lists).toEqual({ containers: 1, sandboxes: 1 });
  });

  it('keeps a link whose log appeared while the containers were listed', async () => {
    await fs.mkdir('/var/log/containers');
    await fs.mkdir('/logs');
    await fs.symlink('/logs/0.log', '/var/log/containers/late.log');
    const gc = makeGc();
    const lookingForDead = vi.spyOn(fs, 'readlink').mockImplementationOnce(async (path) => {
      await fs.writeFile('/logs/0.log', '');
      lookingForDead.mockRestore();
      return await fs.readlink(path);
    });
    await gc.garbageCollect(ready, signal);
    expect(await fs.exists('/var/log/containers/late.log')).toBe(true);
  });

  it('does the remaining steps if the runtime does not answer, and reports the failed ones', async () => {
    gone.add('gone');
    await fs.mkdir('/var/log/pods/ns_web_gone');
    await fs.mkdir('/var/log/containers');
    await fs.symlink('/nowhere', '/var/log/containers/a.log');
    failing.add('listContainers');
    await expect(makeGc().garbageCollect(ready, signal)).rejects.toMatchObject({
      name: 'ContainerGcError',
      message: 'listContainers failed',
    });
    expect(await fs.exists('/var/log/pods/ns_web_gone')).toBe(false);
    expect((await fs.readdir('/var/log/containers')).length).toBe(1);
    fs.injectFault({ code: 'EIO', operation: 'readdir' });
    await expect(makeGc().garbageCollect(ready, signal)).rejects.toMatchObject({
      message: "[listContainers failed, EIO: i/o error, readdir '/var/log/pods']",
    });
  });

  it('stops between two containers when aborted', async () => {
    gone.add('uid-1');
    addContainer('1', 1);
    addContainer('2', 2);
    const controller = new AbortController();
    const gc = makeGc();
    const collecting = gc.garbageCollect(ready, controller.signal);
    controller.abort(new Error('enough'));
    await expect(collecting).rejects.toThrow('enough');
    expect(calls.length).toBeLessThan(2);
  });
});

describe('deleteContainersInPod', () => {
  const status = {
    containers: [3, 2, 1].map((n) => ({ id: `c${n}`, name: 'app', state: 'exited', createdAtMs: n })),
  } as unknown as RuntimePodStatus;

  it('keeps at least one dead container unless all must be removed', async () => {
    const gc = makeGc({ policy: { maxPerPodContainer: 0 } });
    gc.deleteContainersInPod(status, 'c3', false);
    await clock.settle();
    expect(calls).toEqual(['remove c2', 'remove c1']);
    gc.deleteContainersInPod(status, 'c3', true);
    await clock.settle();
    expect(calls.slice(2)).toEqual(['remove c3', 'remove c2', 'remove c1']);
  });

  it('K4: keeps one dead container if the policy has no limit, as upstream', async () => {
    const gc = makeGc({ policy: { maxPerPodContainer: -1 } });
    gc.deleteContainersInPod(status, 'c3', false);
    await clock.settle();
    expect(calls).toEqual(['remove c2', 'remove c1']);
  });

  it('removes each container once, and continues after a failure', async () => {
    const gc = makeGc();
    failing.add('remove c2');
    gc.deleteContainersInPod(status, 'c3', true);
    gc.deleteContainersInPod(status, '', true);
    await clock.settle();
    expect(calls).toEqual(['remove c3', 'remove c2', 'remove c1']);
  });

  it('accepts requests during a deletion, and none after its disposal', async () => {
    const gc = makeGc();
    gc.deleteContainersInPod(status, '', false);
    await Promise.resolve();
    gc.deleteContainersInPod(status, '', true);
    await gc[Symbol.asyncDispose]();
    const before = calls.length;
    gc.deleteContainersInPod(status, '', true);
    await clock.settle();
    expect(calls).toHaveLength(before);
  });
});
