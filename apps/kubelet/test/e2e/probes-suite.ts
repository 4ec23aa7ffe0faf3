import { mkdtemp } from 'node:fs/promises';
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { containerId, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const SERVE = 'mkdir -p /www; httpd -p 8080 -h /www;';

/** Registers tests of exec, HTTP, TCP and gRPC probes with a real kubelet on a real containerd. */
export function probesSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} runs pods with probes`, (context) => context.skip(found.reason));
    return;
  }
  describe(`probes on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      node = new TestNode({ directory, endpoint: containerd.endpoint });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const ready =
      (wanted: boolean) =>
      (pod: Pod): boolean =>
        pod.status?.containerStatuses?.[0]?.ready === wanted && pod.status.containerStatuses[0].state?.running != null;
    const fast = { periodSeconds: 1, failureThreshold: 2 };

    test("S7: HTTP readiness follows the server's responses", async () => {
      const text = `${SERVE} sleep 1; touch /www/ok; sleep 3; rm /www/ok; ${FOREVER}`;
      const ports = [{ name: 'web', containerPort: 8080 }];
      const readinessProbe = { httpGet: { path: '/ok', port: 'web' }, ...fast };
      await node.write({ name: 'http', spec: { containers: [script('c', text, { ports, readinessProbe })] } });
      await node.podUntil('http', ready(true));
      await node.podUntil('http', ready(false));
      const words = (await node.events('http')).map(({ reason, message }) => `${reason}: ${message}`);
      expect(words).toContain('Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 404');
      await node.remove('http');
    });

    test('R2: restarts a container whose exec liveness probe fails', async () => {
      const livenessProbe = { exec: { command: ['sh', '-c', 'test -e /alive || { echo gone; exit 3; }'] }, ...fast };
      const text = `touch /alive; sleep 3; rm /alive; ${FOREVER}`;
      await node.write({ name: 'exec', spec: { containers: [script('c', text, { livenessProbe })] } });
      const before = await node.running('exec');
      const after = await node.podUntil('exec', (pod) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
      expect(containerId(after)).not.toBe(containerId(before));
      const words = (await node.events('exec')).map(({ reason, message }) => `${reason}: ${message}`);
      expect(words).toContain('Unhealthy: Liveness probe failed: gone\n');
      expect(words).toContain('Killing: Container c failed liveness probe, will be restarted');
      await node.remove('exec');
    });

    test('R3: stops a probe command that exceeds its timeout and counts it as failed', async () => {
      const readinessProbe = { exec: { command: ['sleep', '100'] }, ...fast };
      await node.write({ name: 'slow', spec: { containers: [script('c', FOREVER, { readinessProbe })] } });
      const words = 'Readiness probe failed: command timed out: "sleep 100" timed out after 1s';
      await node.until('the event', async () => (await node.events('slow')).find(({ message }) => message === words));
      expect(ready(false)((await node.pod('slow')) as Pod)).toBe(true);
      await node.remove('slow');
    });

    test('TCP readiness succeeds once the port is open', async () => {
      const readinessProbe = { tcpSocket: { port: 8080 }, ...fast };
      const text = `sleep 2; ${SERVE} ${FOREVER}`;
      await node.write({ name: 'tcp', spec: { containers: [script('c', text, { readinessProbe })] } });
      const pod = await node.podUntil('tcp', ready(true));
      const { message } = (await node.events('tcp')).find(({ reason }) => reason === 'Unhealthy') ?? {};
      expect(message).toBe(`Readiness probe failed: dial tcp ${pod.status?.podIP}:8080: connect: connection refused`);
      await node.remove('tcp');
    });

    test('R1: readiness probes start right after the startup probe succeeded', async () => {
      const startupProbe = { exec: { command: ['test', '-e', '/started'] }, periodSeconds: 1, failureThreshold: 30 };
      const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 30 };
      const text = `${SERVE} sleep 3; touch /started; ${FOREVER}`;
      await node.write({ name: 'late', spec: { containers: [script('c', text, { startupProbe, readinessProbe })] } });
      const early = await node.podUntil('late', (pod) => pod.status?.containerStatuses?.[0]?.state?.running != null);
      expect(early.status?.containerStatuses?.[0]).toMatchObject({ started: false, ready: false });
      const pod = await node.podUntil('late', ready(true));
      expect(pod.status?.containerStatuses?.[0]).toMatchObject({ started: true, restartCount: 0 });
      await node.remove('late');
    });

    test('gRPC readiness queries the health of the specified service', async () => {
      const health = { serving: false };
      await using server = await new HealthServer(health).listening();
      const { port } = server;
      const readinessProbe = { grpc: { port, service: 'a.b' }, ...fast };
      const spec = { hostNetwork: true, containers: [script('c', FOREVER, { readinessProbe })] };
      await node.write({ name: 'grpc', spec });
      const words = 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")';
      await node.until('the event', async () => (await node.events('grpc')).find(({ message }) => message === words));
      health.serving = true;
      await node.podUntil('grpc', ready(true));
      await node.remove('grpc');
    });

    test('S6: after a kill -9, ready containers stay ready and are not restarted', async () => {
      const readinessProbe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 30 };
      const livenessProbe = { exec: { command: ['true'] }, ...fast };
      const text = `${SERVE} echo hi > /www/index.html; ${FOREVER}`;
      const container = script('c', text, { readinessProbe, livenessProbe });
      await node.write({ name: 'steady', spec: { containers: [container] } });
      const before = await node.podUntil('steady', ready(true));
      await node.kill('SIGKILL');
      await node.start();
      const after = await node.podUntil('steady', ready(true));
      expect(containerId(after)).toBe(containerId(before));
      expect(after.status?.containerStatuses?.[0]?.restartCount).toBe(0);
      await node.remove('steady');
    });
  });
}

/** Server of the gRPC health protocol that listens on all addresses of the machine. */
class HealthServer implements AsyncDisposable {
  readonly #server: Http2Server = createServer();

  constructor(health: { readonly serving: boolean }) {
    this.#server.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, health.serving ? 1 : 2]));
    });
  }

  async listening(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
