import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fixtures, fixtures } from './fixtures.ts';

const PODS = 110;
const CHANGES = 20_000;
const MB = 1024 * 1024;

let f: Fixtures;
beforeAll(async () => {
  f = await fixtures();
});
afterAll(async () => {
  await f.endTest();
  await f[Symbol.asyncDispose]();
});

function pod(index: number, resourceVersion: number): object {
  const env = Array.from({ length: 30 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `value ${i} of pod ${index}` }));
  const container = { image: 'registry.example/app:v1', env, terminationMessagePath: '/dev/termination-log' };
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `pod-${index}`,
      namespace: 'default',
      uid: `uid-${index}`,
      resourceVersion: String(resourceVersion),
    },
    spec: { nodeName: 'a', containers: [0, 1, 2].map((i) => ({ name: `c${i}`, ...container })) },
  };
}

test(`K4: a watch of ${PODS} pods costs under 10 MB above the objects, and thousands of changes do not leak memory`, async () => {
  const server = await f.tlsServer(true);
  const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
  server.handler = (_, response) => {
    for (let i = 0; i < PODS; i++) response.write(line('ADDED', pod(i, 100 + i)));
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    response.write(line('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '1000', annotations } }));
    for (let i = 1; i <= CHANGES; i++) response.write(line('MODIFIED', pod(0, 1000 + i)));
  };
  const arguments_ = [
    server.url,
    join(f.pki.directory, 'ca.crt'),
    '1000',
    String(1000 + CHANGES / 4),
    String(1000 + CHANGES),
  ];
  const flags = ['--expose-gc', '--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
  const program = join(import.meta.dirname, 'memory-program.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, ...arguments_]);
  const { pods, costBytes, heapBytes } = JSON.parse(stdout) as Readonly<Record<'costBytes' | 'heapBytes', number[]>> & {
    readonly pods: number;
  };
  expect(pods).toBe(PODS);
  const objectBytes = PODS * JSON.stringify(pod(0, 0)).length;
  expect((costBytes[0] ?? 0) - objectBytes).toBeLessThan(10 * MB);
  // The process's resident size is not usable: many events enlarge the heap's young generation once.
  const [, early = 0, late = 0] = heapBytes;
  expect(late - early).toBeLessThan(2 * MB);
});
