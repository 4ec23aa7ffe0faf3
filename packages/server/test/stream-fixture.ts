import { type Clock, systemClock } from '@node-agent/async';
import { busyboxImage, FakeRuntime } from '@node-agent/fake-cri';
import { FakeStreamingServer } from '@node-agent/fake-cri/streaming';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { alwaysAllow, type StreamOptions, streamEndpoints } from '../src/index.ts';
import type { KeyPair } from './pki.ts';
import { type Started, startSecured } from './secured-fixture.ts';

/** Returns the number of open connections of this process. */
export function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TLSWrap').length;
}

/**
 * A secured server and its streaming runtime, with one pod: a container that echoes its input, and port 80, which
 * echoes too.
 */
export interface ServedPod extends Started {
  readonly runtime: FakeRuntime;
  readonly streaming: FakeStreamingServer;
  readonly metrics: MetricsRegistry;
  /** The URL path of the server's `/exec`, `/attach` or `/portForward` for the pod. */
  url(what: 'exec' | 'attach' | 'portForward', query?: string): string;
}

export async function servedPod(
  serving: KeyPair,
  { clock = systemClock, ...options }: StreamOptions & { readonly clock?: Clock } = {},
): Promise<ServedPod> {
  const fs = new MemoryFileSystem({ clock: systemClock });
  await fs.mkdir('/logs');
  const runtime = new FakeRuntime({ fs }, { images: [busyboxImage('busybox')] });
  const streaming = new FakeStreamingServer({ runtime });
  await streaming.start();
  const { pod, running } = await makePod(runtime);
  const node = {
    getPodByName: () => pod,
    translatePodUid: (uid: string) => uid,
    getRunningPods: async () => [running],
  };
  const metrics = new MetricsRegistry();
  const server = await startSecured(serving, {
    ...{ anonymous: true, authorization: alwaysAllow },
    ...streamEndpoints({ clock, logger: silentLogger, metrics, runtime, ...node }, options),
  });
  return {
    ...{ ...server, runtime, streaming, metrics },
    url: (what, query = '') => {
      const container = what === 'portForward' ? '' : '/main';
      return `https://127.0.0.1:${server.port}/${what}/default/web${container}?${query}`;
    },
    end: async () => {
      await server.end();
      await streaming.close();
    },
  };
}

async function makePod(runtime: FakeRuntime): Promise<{ pod: Pod; running: RuntimePod }> {
  const metadata = { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 };
  const sandboxConfig = { metadata, hostname: 'web', logDirectory: '/logs' };
  const { podSandboxId } = await runtime.runPodSandbox({ config: sandboxConfig });
  const annotations = { 'fake-cri.node-agent.dev/behaviour': JSON.stringify({ ports: { '80': 'echo' } }) };
  const config = {
    metadata: { name: 'main', attempt: 0 },
    image: { image: 'busybox' },
    ...{ command: ['cat'], stdin: true, annotations },
  };
  const { containerId } = await runtime.createContainer({ podSandboxId, config, sandboxConfig });
  await runtime.startContainer({ containerId });
  const pod: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u1' } },
    spec: { containers: [{ name: 'main', image: 'busybox', stdin: true }] },
  };
  const running: RuntimePod = {
    ...{ uid: 'u1', name: 'web', namespace: 'default', createdAtMs: 0 },
    containers: [
      {
        ...{ id: containerId, name: 'main', sandboxId: podSandboxId, image: 'busybox', imageId: 'x', hash: '' },
        ...{ restartCount: 0, createdAtMs: 1, state: 'running' },
      },
    ],
    sandboxes: [{ id: podSandboxId, state: 'ready', attempt: 0, createdAtMs: 0, runtimeHandler: '' }],
  };
  return { pod, running };
}
