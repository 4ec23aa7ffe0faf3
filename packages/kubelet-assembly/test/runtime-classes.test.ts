import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { RuntimeClasses } from '../src/runtime-classes.ts';

const { signal } = new AbortController();
const podOf = (runtimeClassName?: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'main', image: 'busybox' }], ...(runtimeClassName && { runtimeClassName }) },
});

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock, random: seededRandom(1) });
  const put = (name: string, handler: string): unknown =>
    api.put({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler });
  let isAway = false;
  const client = new RestClient({
    transport: {
      request: (...args) => (isAway ? Promise.reject(new Error('connection refused')) : api.request(...args)),
    },
    clock,
  });
  const goAway = (): void => {
    isAway = true;
  };
  return { classes: new RuntimeClasses(client), put, goAway };
}

test('a pod without a RuntimeClass gets the default handler without a request to the API server', async () => {
  const { classes, goAway } = setUp();
  goAway();
  expect(await classes.handlerOf(podOf(), signal)).toBe('');
  expect(classes.knownHandlerOf(podOf())).toBe('');
});

test('reads a RuntimeClass each time, because the class may have been recreated', async () => {
  const { classes, put } = setUp();
  expect(classes.knownHandlerOf(podOf('sandboxed'))).toBeUndefined();
  await expect(classes.handlerOf(podOf('sandboxed'), signal)).rejects.toThrow(
    'runtimeclass.node.k8s.io "sandboxed" not found',
  );
  put('sandboxed', 'runsc');
  expect(await classes.handlerOf(podOf('sandboxed'), signal)).toBe('runsc');
  expect(classes.knownHandlerOf(podOf('sandboxed'))).toBe('runsc');
});

test('K3: returns the last known handler of a RuntimeClass while the API server is unavailable', async () => {
  const { classes, put, goAway } = setUp();
  put('sandboxed', 'runsc');
  await classes.handlerOf(podOf('sandboxed'), signal);
  goAway();
  expect(await classes.handlerOf(podOf('sandboxed'), signal)).toBe('runsc');
  await expect(classes.handlerOf(podOf('other'), signal)).rejects.toThrow('failed to lookup RuntimeClass other: ');
});
