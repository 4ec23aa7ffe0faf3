import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { ControlPlane, findControlPlane } from '@node-agent/tools-control-plane';
import { afterAll, beforeAll, test } from 'vitest';
import { examine } from './compliance.ts';
import { httpTransport } from './http-transport.ts';

// The real API server runs the same cases as the fake API server. A case that the real API server fails is wrong
// itself.
const found = await findControlPlane({ say: (text) => process.stderr.write(`${text}\n`) });
if ('reason' in found) test('kube-apiserver complies', (context) => context.skip(found.reason));
else {
  let directory = '';
  let plane: ControlPlane;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'na-real-'));
    plane = new ControlPlane({ binaries: found.binaries, directory });
    await plane.start();
  }, 120_000);
  afterAll(async () => plane.stop(), 60_000);
  examine('kube-apiserver', {
    connect: async () => httpTransport(plane.url, plane.admin),
    wait: (ms) => new Promise((resolve) => void systemClock.setTimer(ms, resolve)),
    compact: () => plane.compact(),
  });
}
