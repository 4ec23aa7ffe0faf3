import { createHash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { CriClient } from '@node-agent/cri-client';
import { Containerd, type ContainerdBinaries, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { endPods } from '../end-pods.ts';
import type { Places } from '../places.ts';
import { freeSubnet } from '../subnet.ts';
import type { NodeRuntime, Say } from './node-runtime.ts';

const RESTART_DELAY_MS = 500;

/** Creates the containerd of a run directory without starting it. */
export function containerdOf(places: Places, binaries: ContainerdBinaries): Containerd {
  const taken = Object.values(networkInterfaces()).flatMap(
    (addresses) => addresses?.map(({ address }) => address) ?? [],
  );
  const seed = createHash('sha256').update(places.runDir).digest();
  return new Containerd({
    binaries,
    directory: places.containerdDir,
    logFile: places.containerdLog,
    subnet: freeSubnet(seed, taken),
    masquerade: true,
    ownProcessGroup: true,
  });
}

/** Starts a private containerd for a run, and restarts it if it exits. */
export async function startPrivateRuntime(
  containerd: Containerd,
  binaries: ContainerdBinaries,
  say: Say,
): Promise<NodeRuntime> {
  await containerd.start();
  const ending = new AbortController();
  const watch = keepRunning(containerd, say, ending.signal);
  const socket = containerd.endpoint.slice('unix://'.length);
  return {
    endpoint: containerd.endpoint,
    image: { name: PAUSE_IMAGE, pullPolicy: 'Never' },
    lookAround: [`${binaries.ctr} --address ${socket} -n k8s.io tasks ls`],
    async end(hurry, progress) {
      ending.abort();
      await watch;
      const client = new CriClient({}, { endpoint: containerd.endpoint });
      try {
        await endPods(client, () => true, hurry, progress);
      } catch (error) {
        say(`containerd failed to stop the pods (${String(error)}); killing them`);
      } finally {
        await client.close();
        await containerd.stop();
      }
    },
  };
}

async function keepRunning(containerd: Containerd, say: Say, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
  while (!signal.aborted) {
    const how = await Promise.race([containerd.exit, aborted]);
    if (how === undefined) return;
    say(`containerd: ${how}; restarting it (its containers keep running)`);
    await new Promise((resolve) => setTimeout(resolve, RESTART_DELAY_MS));
    await containerd.startProcess().then(
      () => say('containerd answers again'),
      (error: unknown) => say(String(error)),
    );
  }
}
