import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom, systemClock } from '@node-agent/async';
import { CriClient } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { afterAll } from 'vitest';
import { busyboxImage, FakeCriServer, FakeRuntime } from '../src/index.ts';
import { FakeStreamingServer } from '../src/streaming/index.ts';
import { examine } from './compliance.ts';

for (const transport of ['grpc-js', 'lean'] as const) {
  const directory = await mkdtemp(join(tmpdir(), 'fake-cri-'));
  const images = [busyboxImage(), busyboxImage('node-agent.local/other:1')];
  const runtime = new FakeRuntime({ clock: systemClock, random: seededRandom(7), fs: nodeFileSystem }, { images });
  const server = new FakeCriServer({ runtime }, { endpoint: `unix://${directory}/cri.sock` });
  const streaming = new FakeStreamingServer({ runtime });
  await streaming.start();
  await server.start();
  const client = new CriClient({}, { endpoint: server.endpoint, transport });

  afterAll(async () => {
    await client.close();
    await server.close();
    await streaming.close();
    await rm(directory, { recursive: true });
  });

  examine(
    `fake-over-${transport}`,
    {
      connect: async () => client,
      image: 'busybox',
      removableImage: 'node-agent.local/other:1',
      workDir: directory,
      fs: nodeFileSystem,
      wait: (ms) => new Promise((resolve) => void systemClock.setTimer(ms, resolve)),
      now: () => systemClock.now(),
    },
    true,
  );
}
