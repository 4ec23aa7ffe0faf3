import { dirname } from 'node:path';
import { systemClock, systemRandom } from '@node-agent/async';
import { busyboxImage, FakeCriServer, FakeRuntime, typicalLatencies } from '@node-agent/fake-cri';
import { FakeStreamingServer } from '@node-agent/fake-cri/streaming';
import { nodeFileSystem } from '@node-agent/host';
import type { NodeRuntime } from './node-runtime.ts';

const IMAGE = 'node-agent.local/busybox:1';

/**
 * Starts an in-memory runtime that serves CRI on a real socket. The containers of the runtime run a small shell, write
 * real log files, and support exec.
 */
export async function startFakeRuntime(socket: string): Promise<NodeRuntime> {
  const runtime = new FakeRuntime(
    { clock: systemClock, random: systemRandom, fs: nodeFileSystem },
    { images: [busyboxImage(IMAGE)], latencies: typicalLatencies, mountpoint: dirname(socket) },
  );
  const server = new FakeCriServer({ runtime }, { endpoint: `unix://${socket}` });
  const streaming = new FakeStreamingServer({ runtime });
  await streaming.start();
  await server.start();
  return {
    endpoint: server.endpoint,
    image: { name: IMAGE, pullPolicy: 'Never' },
    lookAround: [],
    end: async () => {
      await server.close();
      await streaming.close();
    },
  };
}
