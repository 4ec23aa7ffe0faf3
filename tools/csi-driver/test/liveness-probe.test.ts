import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GrpcServer, service } from '@node-agent/grpc';
import { freePorts } from '@node-agent/tools-ports';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityRpcs } from '../src/generated/services.ts';
import { LivenessProbe } from '../src/liveness-probe/liveness-probe.ts';
import { probeCommand } from '../src/liveness-probe/liveness-probe-options.ts';

let directory: string;
let csiSocketPath: string;
let probe: LivenessProbe;
let url: string;

beforeEach(async () => {
  directory = await mkdtemp('/tmp/na-live-');
  csiSocketPath = join(directory, 'csi.sock');
  const [port = 0] = await freePorts(1);
  probe = new LivenessProbe({ csiSocketPath, port });
  await probe.start();
  url = `http://127.0.0.1:${port}/healthz`;
});
afterEach(async () => {
  probe.stop();
  await rm(directory, { recursive: true });
});

async function serve(ready: boolean): Promise<GrpcServer> {
  const handlers = {
    getPluginInfo: async () => ({}),
    getPluginCapabilities: async () => ({}),
    probe: async () => ({ ready: { value: ready } }),
  };
  const server = new GrpcServer({ socketPath: csiSocketPath, services: [service(identityRpcs, handlers)] });
  await server.start();
  return server;
}

test('/healthz is 500 without a driver, and 200 as soon as a driver responds to Probe', async () => {
  expect((await fetch(url)).status).toBe(500);
  const server = await serve(true);
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, 'ok']);
  server.close();
});

test('/healthz is 500 if the driver reports that it is not ready, and other paths are 404', async () => {
  const server = await serve(false);
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([500, 'the driver is not ready']);
  expect((await fetch(url.replace('healthz', 'other'))).status).toBe(404);
  server.close();
});

test("probeCommand accepts the arguments that upstream's suites pass to the livenessprobe", () => {
  const args = ['--csi-address=/csi/csi.sock', '--health-port=9898'];
  expect(probeCommand(args)).toEqual({ do: 'serve', csiSocketPath: '/csi/csi.sock', port: 9898 });
  expect(probeCommand([])).toMatchObject({ port: 9808 });
});
