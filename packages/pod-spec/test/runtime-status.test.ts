import { describe, expect, it } from 'vitest';
import { mayRun, type RuntimeContainer, type RuntimePod, type RuntimeSandbox } from '../src/index.ts';

const container = (state: RuntimeContainer['state']): RuntimeContainer => ({
  id: 'c',
  name: 'main',
  state,
  sandboxId: 's',
  image: '',
  imageId: '',
  hash: '',
  restartCount: 0,
  createdAtMs: 1,
});
const sandbox = (state: RuntimeSandbox['state']): RuntimeSandbox => ({
  id: 's',
  state,
  attempt: 0,
  createdAtMs: 1,
  runtimeHandler: '',
});
const pod = (containers: readonly RuntimeContainer[], state: RuntimeSandbox['state'] = 'notReady'): RuntimePod => ({
  uid: 'u',
  name: 'p',
  namespace: 'default',
  createdAtMs: 1,
  containers,
  sandboxes: [sandbox(state)],
});

describe('mayRun', () => {
  it.each([
    ['a ready sandbox', pod([], 'ready'), true],
    ['only a stopped sandbox', pod([]), false],
    ['a running container in a stopped sandbox', pod([container('running')]), true],
    ['a container in an unknown state', pod([container('unknown')]), true],
    ['an exited container', pod([container('exited')]), false],
    ['a created container', pod([container('created')]), false],
    ['one running container of several', pod([container('exited'), container('running')]), true],
    ['one ready sandbox of several', { containers: [], sandboxes: [sandbox('notReady'), sandbox('ready')] }, true],
    ['no sandbox and no container', { containers: [], sandboxes: [] }, false],
  ])('a process of a pod with %s may still run: $2', (_name, of, expected) => {
    expect(mayRun(of)).toBe(expected);
  });
});
