import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import type { ContainerConfig, Init, PodSandboxConfig } from '@node-agent/cri-client';
import { NamespaceMode } from '@node-agent/cri-client';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { busyboxImage, FakeRuntime, type FakeRuntimeOptions } from '../src/index.ts';

/** A runtime under a fake clock, with an image that has the commands of the small shell. */
export interface World {
  readonly clock: FakeClock;
  readonly fs: MemoryFileSystem;
  readonly runtime: FakeRuntime;
}

export const LOGS = '/var/log/pods/default_web_uid-1';

export async function world(options: FakeRuntimeOptions = {}, seed: number = 1): Promise<World> {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir(LOGS);
  const images = [busyboxImage(), ...(options.images ?? [])];
  const runtime = new FakeRuntime({ clock, fs, random: seededRandom(seed) }, { ...options, images });
  return { clock, fs, runtime };
}

export function sandboxConfig(overrides: Init<PodSandboxConfig> = {}): Init<PodSandboxConfig> {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt: 0 },
    hostname: 'web',
    logDirectory: LOGS,
    ...overrides,
  };
}

export function containerConfig(
  command: readonly string[],
  overrides: Init<ContainerConfig> = {},
): Init<ContainerConfig> {
  return {
    metadata: { name: 'main', attempt: 0 },
    image: { image: 'busybox' },
    command,
    logPath: 'main_0.log',
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
    ...overrides,
  };
}

/** Runs a sandbox and starts one container in it. */
export async function startPod(
  { runtime }: World,
  command: readonly string[],
  overrides: Init<ContainerConfig> = {},
): Promise<{ podSandboxId: string; containerId: string }> {
  const config = sandboxConfig();
  const { podSandboxId } = await runtime.runPodSandbox({ config });
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: containerConfig(command, overrides),
    sandboxConfig: config,
  });
  await runtime.startContainer({ containerId });
  return { podSandboxId, containerId };
}

export async function readText(fs: MemoryFileSystem, path: string): Promise<string> {
  return new TextDecoder().decode(await fs.readFile(path));
}
