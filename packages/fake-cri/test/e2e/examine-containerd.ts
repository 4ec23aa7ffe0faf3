import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerState, CriClient } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { buildImage, Containerd, type Found, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examine } from '../compliance.ts';

const REMOVABLE = 'node-agent.local/removable:1';

/** Runs the suite on a private containerd, or skips it with the reason. */
export async function examineContainerd(name: string, found: Found, subnet: string): Promise<void> {
  if ('reason' in found) {
    test(`${name} complies`, (context) => context.skip(found.reason));
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'na-'));
  const containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
  try {
    await containerd.start();
  } catch (error) {
    await rm(directory, { recursive: true });
    throw error;
  }
  const client = new CriClient({}, { endpoint: containerd.endpoint });
  const lean = new CriClient({}, { endpoint: containerd.endpoint, transport: 'lean' });
  afterAll(async () => {
    await client.close();
    await lean.close();
    await containerd.stop();
    await rm(directory, { recursive: true });
  }, 120_000);
  const archive = join(directory, 'removable.tar');
  await buildImage({ tag: REMOVABLE, file: archive });
  const workDir = join(directory, 'work');
  await mkdir(workDir);
  const version = found.binaries.version.replaceAll('.', '-');
  for (const [transport, connected] of [
    ['grpc-js', client],
    ['lean', lean],
  ] as const) {
    describe(`containerd over ${transport}`, () => {
      // The image is imported for each transport, because the suite removes the image.
      beforeAll(() => containerd.importImage(archive, REMOVABLE));
      examine(
        `containerd-${version}-${transport}`,
        {
          connect: async () => connected,
          image: PAUSE_IMAGE,
          removableImage: REMOVABLE,
          workDir,
          fs: nodeFileSystem,
          wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
          now: () => Date.now(),
          cgroupParent: containerd.cgroupParent,
        },
        true,
      );
    });
  }

  test('K2: a containerd that was killed and restarted knows its pods, and containers that exited while it was down', async () => {
    const config = {
      metadata: { name: 'survivor', namespace: 'e2e', uid: 'survivor', attempt: 0 },
      hostname: 'survivor',
      linux: { cgroupParent: containerd.cgroupParent },
    };
    const { podSandboxId } = await client.runPodSandbox({ config });
    const started = async (name: string, script: string): Promise<string> => {
      const container = {
        metadata: { name, attempt: 0 },
        image: { image: PAUSE_IMAGE },
        command: ['sh', '-c', script],
      };
      const request = { podSandboxId, config: container, sandboxConfig: config };
      const { containerId } = await client.createContainer(request);
      await client.startContainer({ containerId });
      return containerId;
    };
    const long = await started('long', 'sleep 1000');
    const short = await started('short', 'sleep 1; exit 3');
    const before = await client.podSandboxStatus({ podSandboxId });
    await containerd.killProcess('SIGKILL');
    await new Promise((resolve) => void setTimeout(resolve, 1500));
    await containerd.startProcess();
    const again = new CriClient({}, { endpoint: containerd.endpoint });
    try {
      const after = await again.podSandboxStatus({ podSandboxId });
      expect(after.status).toMatchObject({ state: before.status?.state, network: before.status?.network });
      expect((await again.containerStatus({ containerId: long })).status?.state).toBe(ContainerState.CONTAINER_RUNNING);
      const { status } = await again.containerStatus({ containerId: short });
      expect(status?.state).toBe(ContainerState.CONTAINER_EXITED);
      // containerd 2.x cleans up the shim without asking it for the exit code.
      expect([status?.exitCode, status?.reason]).toEqual(
        found.binaries.version.startsWith('1.') ? [3, 'Error'] : [255, 'Unknown'],
      );
      await expect(again.runPodSandbox({ config })).rejects.toThrow('is reserved for');
      await again.removePodSandbox({ podSandboxId });
    } finally {
      await again.close();
    }
  }, 60_000);
}
