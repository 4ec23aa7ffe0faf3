import { systemClock, systemRandom } from '@node-agent/async';
import { busyboxImage, FakeCriServer, FakeRuntime, typicalLatencies } from '@node-agent/fake-cri';
import { nodeFileSystem } from '@node-agent/host';
import type { NodeRuntime } from './node-runtime.ts';

const IMAGE = 'node-agent.local/busybox:1';

/** A runtime in this process' memory, over a real socket: its containers run a small shell, and log to real files. */
export async function startFakeRuntime(socket: string): Promise<NodeRuntime> {
  const runtime = new FakeRuntime(
    { clock: systemClock, random: systemRandom, fs: nodeFileSystem },
    { images: [busyboxImage(IMAGE)], latencies: typicalLatencies },
  );
  const server = new FakeCriServer({ runtime }, { endpoint: `unix://${socket}` });
  await server.start();
  return {
    endpoint: server.endpoint,
    image: { name: IMAGE, pullPolicy: 'Never' },
    lookAround: [],
    end: () => server.close(),
  };
}
