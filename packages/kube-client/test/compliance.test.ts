import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom, sleep, systemClock, systemRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer, FakeApiServerHttp } from '@node-agent/fake-apiserver';
import { nodeFileSystem } from '@node-agent/host';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { ControlPlane, type ControlPlaneBinaries, findControlPlane } from '@node-agent/tools-control-plane';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type ComplianceOptions, kubeClientCompliance } from '../src/compliance/index.ts';
import { KubeClients, loadKubeconfig, RestClient } from '../src/index.ts';

describe('API compliance in one process, with the fake clock', () => {
  const clock = new FakeClock();
  const random = seededRandom(7);
  const api = new FakeApiServer({ clock, random });
  const options: ComplianceOptions = {
    client: new RestClient({ transport: api, clock }),
    clock,
    random,
    pause: (ms) => clock.advance(ms),
    cutConnections: () => api.endWatches('cut'),
    compact: () => api.compact(),
    wipe: () => api.wipe(),
  };
  for (const { name, run } of kubeClientCompliance('memory', () => options)) {
    test(name, (context) => run((reason) => context.skip(reason)));
  }
});

describe('API compliance over HTTP, in real time', () => {
  const api = new FakeApiServer({ clock: systemClock, random: systemRandom });
  const server = new FakeApiServerHttp({ api });
  let clients: KubeClients;
  beforeAll(async () => {
    await server.start();
    const connection = { cluster: { server: server.url }, user: {} };
    clients = new KubeClients(
      { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} },
      { connection, requests: { qps: 0, burst: 0 } },
    );
  });
  afterAll(async () => {
    await clients[Symbol.asyncDispose]();
    await server.close();
  });
  const options = (): ComplianceOptions => ({
    client: clients.requests,
    clock: systemClock,
    random: systemRandom,
    // Pauses are ten times shorter than with the fake clock: conditions must hold within 3 s of real time.
    pause: (ms) => sleep(systemClock, ms / 10),
    backOffMs: 10,
    cutConnections: () => clients.closeConnections(),
    compact: () => api.compact(),
  });
  for (const { name, run } of kubeClientCompliance('http', options)) {
    test(name, (context) => run((reason) => context.skip(reason)));
  }
});

const found = await findControlPlane({ say: (text) => process.stderr.write(`${text}\n`) });
if ('reason' in found) test('compliance with a real kube-apiserver', (context) => context.skip(found.reason));
else real(found.binaries);

function real(binaries: ControlPlaneBinaries): void {
  describe('compliance with a real kube-apiserver', { timeout: 120_000 }, () => {
    let plane: ControlPlane;
    let clients: KubeClients;
    beforeAll(async () => {
      plane = new ControlPlane({ binaries, directory: await mkdtemp(join(tmpdir(), 'na-real-')) });
      await plane.start();
      const connection = await loadKubeconfig({ fs: nodeFileSystem }, plane.adminKubeconfig);
      clients = new KubeClients(
        { clock: systemClock, logger: silentLogger, metrics: noMetrics, environment: {} },
        { connection, requests: { qps: 0, burst: 0 } },
      );
    }, 120_000);
    afterAll(async () => {
      await clients?.[Symbol.asyncDispose]();
      await plane?.stop();
    }, 60_000);
    const options = (): ComplianceOptions => ({
      client: clients.requests,
      clock: systemClock,
      random: systemRandom,
      pause: (ms) => sleep(systemClock, ms),
      backOffMs: 100,
      cutConnections: () => clients.closeConnections(),
      compact: () => plane.compact(),
      wipe: () => plane.wipe(),
    });
    for (const { name, run } of kubeClientCompliance('real', options)) {
      test(name, (context) => run((reason) => context.skip(reason)));
    }
  });
}
