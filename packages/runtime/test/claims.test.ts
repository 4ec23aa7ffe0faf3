import { describe, expect, it, vi } from 'vitest';
import { pod } from './builders.ts';
import { Machine, sleeper } from './machine.ts';

describe('ResourceClaims of a pod', () => {
  it('ResourceClaims of a pod are prepared before its sandbox is created and images are pulled, and not again for containers', async () => {
    const order: string[] = [];
    const ensureImageExists = async () => {
      order.push('image');
      return { imageRef: 'busybox' };
    };
    const claims = { prepare: async (): Promise<void> => void order.push('prepare') };
    const machine = new Machine({ images: { ensureImageExists }, components: { claims } });
    const runSandbox = machine.cri.runPodSandbox.bind(machine.cri);
    vi.spyOn(machine.cri, 'runPodSandbox').mockImplementation((...args) => {
      order.push('sandbox');
      return runSandbox(...args);
    });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')], restartPolicy: 'Always' });
    await machine.sync(kubelet, web);
    expect(order[0]).toBe('prepare');
    expect(order.toSorted()).toEqual(['image', 'prepare', 'sandbox']);
    const [a] = machine.cri.liveContainers();
    await machine.settle(machine.cri.stopContainer({ containerId: a?.id ?? '', timeout: 0 }));
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/1']);
    expect(order.filter((one) => one === 'prepare')).toHaveLength(1);
  });

  it('a pod whose ResourceClaims cannot be prepared gets an event, and neither images nor a sandbox', async () => {
    let fails = true;
    const pulled = vi.fn(async () => ({ imageRef: 'busybox' }));
    const prepare = async (): Promise<void> => {
      if (fails) throw new Error('prepare dynamic resources: driver is not registered');
    };
    const machine = new Machine({ images: { ensureImageExists: pulled }, components: { claims: { prepare } } });
    const kubelet = machine.kubelet();
    const web = pod({ containers: [sleeper('a')] });
    const text = 'Failed to prepare dynamic resources: prepare dynamic resources: driver is not registered';
    expect((await machine.sync(kubelet, web)).error?.message).toBe(`failed to SyncPod: ${text}`);
    expect(machine.events).toEqual([`Warning FailedPrepareDynamicResources : ${text}`]);
    expect(pulled).not.toHaveBeenCalled();
    expect((await machine.cri.listPodSandbox({})).items).toEqual([]);
    fails = false;
    await machine.sync(kubelet, web);
    expect(machine.live()).toEqual(['a/0']);
  });

  it('ResourceClaims that are being prepared do not delay the termination of a pod', async () => {
    const claims = {
      prepare: (_pod: unknown, signal: AbortSignal) =>
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    };
    const machine = new Machine({ components: { claims } });
    const kubelet = machine.kubelet();
    const killed = new AbortController();
    const syncing = machine.sync(kubelet, pod({ containers: [sleeper('a')] }), killed.signal);
    await machine.clock.settle();
    killed.abort(new Error('pod is deleted'));
    expect((await syncing).error?.message).toContain('pod is deleted');
    expect(machine.events).toEqual([]);
  });
});
