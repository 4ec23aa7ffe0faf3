import { mkdtemp } from 'node:fs/promises';
import { request } from 'node:https';
import { busyboxImage, FakeCriServer, FakeRuntime } from '@node-agent/fake-cri';
import { nodeFileSystem } from '@node-agent/host';
import { type CollectedSpan, Collector } from '@node-agent/otlp/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

describe('the traces of a node', { timeout: TIMEOUT_MS }, () => {
  const collector = new Collector();
  const ends: (() => Promise<unknown>)[] = [];
  let node: TestNode;

  beforeAll(async () => {
    const directory = await mkdtemp('/tmp/na-e2e-');
    ends.push(() => removeDirectory(directory));
    const runtime = new FakeRuntime({ fs: nodeFileSystem }, { images: [busyboxImage('busybox')] });
    const cri = new FakeCriServer({ runtime }, { endpoint: `unix://${directory}/cri.sock` });
    await cri.start();
    ends.push(() => cri.close());
    const endpoint = await collector.listen();
    ends.push(async () => collector.close());
    node = new TestNode({
      ...{ directory, endpoint: cri.endpoint },
      configuration: {
        tracing: { endpoint, samplingRatePerMillion: 1_000_000 },
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
      },
    });
    await node.start();
    ends.push(() => node.kill('SIGTERM'));
  }, TIMEOUT_MS);

  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  }, TIMEOUT_MS);

  test('the start of a pod is a trace: syncPod, and below it each call of the runtime', async () => {
    const container = { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', '3600'] };
    await node.write({ name: 'web', spec: { containers: [container] } });
    const pod = await node.running('web');
    const { root, children } = await node.until('the trace', async () => startOf(collector.spans));
    expect(root).toMatchObject({
      ...{ kind: 1, parentSpanId: '', error: undefined, scope: 'k8s.io/kubernetes/pkg/kubelet' },
      attributes: {
        'k8s.pod.uid': pod.metadata.uid,
        'k8s.pod': 'default/web-e2e',
        'k8s.pod.name': 'web-e2e',
        'k8s.namespace.name': 'default',
        'k8s.pod.update_type': 'create',
      },
      resource: { 'service.name': 'kubelet', 'host.name': 'e2e' },
    });
    // Other calls, such as a read of the pod's status that the sync caused, may end after the sync.
    for (const call of ['RunPodSandbox', 'CreateContainer', 'StartContainer']) {
      const { kind, startNs, endNs } =
        children.find(({ name }) => name === `runtime.v1.RuntimeService/${call}`) ?? root;
      expect([call, kind, startNs >= root.startNs, endNs <= root.endNs]).toEqual([call, 3, true, true]);
    }
  });

  test('a request to the secured port continues the trace of its caller', async () => {
    await get(node.port, '/pods', `00-${CALLER.traceId}-${CALLER.spanId}-01`);
    const span = await node.until('the span', async () =>
      collector.spans.find(({ traceId }) => traceId === CALLER.traceId),
    );
    expect(span).toMatchObject({
      ...{ name: '/pods', kind: 2, parentSpanId: CALLER.spanId },
      attributes: { 'http.request.method': 'GET', 'http.route': '/pods', 'http.response.status_code': 200 },
    });
  });

  test('a collector that hangs delays neither a pod nor the shutdown of the kubelet', async () => {
    collector.hangs = true;
    await node.remove('web');
    const from = performance.now();
    await node.kill('SIGTERM');
    expect(performance.now() - from).toBeLessThan(10_000);
  });
});

/** Returns the span in which a pod's container was started, and the spans below it. */
function startOf(
  spans: readonly CollectedSpan[],
): { readonly root: CollectedSpan; readonly children: readonly CollectedSpan[] } | undefined {
  const started = spans.find(({ name }) => name === 'runtime.v1.RuntimeService/StartContainer');
  const root = spans.find(({ name, spanId }) => name === 'syncPod' && spanId === started?.parentSpanId);
  return root && { root, children: spans.filter(({ parentSpanId }) => parentSpanId === root.spanId) };
}

async function get(port: number, path: string, traceparent: string): Promise<void> {
  const options = { host: '127.0.0.1', port, path, headers: { traceparent }, rejectUnauthorized: false };
  await new Promise<void>((resolve, reject) => {
    request(options, (response) => response.resume().on('end', resolve))
      .on('error', reject)
      .end();
  });
}
