import { expect, test } from 'vitest';
import { ContainerSandboxes } from '../src/status/container-sandboxes.ts';
import { record, sandbox } from './builders.ts';

const SANDBOXES = [sandbox()];

test('ContainerSandboxes keeps the sandbox of a container whose record was removed', () => {
  const known = new ContainerSandboxes();
  known.seen('u', SANDBOXES, [record('a', 'exited')]);
  known.seen('u', SANDBOXES, []);
  expect(known.of('u', 'a-0')).toBe('sandbox-0');
  expect(known.of('other', 'a-0')).toBeUndefined();
});

test('ContainerSandboxes keeps the last attempt of a container that has run', () => {
  const known = new ContainerSandboxes();
  const attempt = (restartCount: number, state: 'exited' | 'created') => record('a', state, { restartCount });
  known.seen('u', SANDBOXES, [attempt(2, 'created'), attempt(0, 'exited'), attempt(1, 'exited')]);
  expect(['a-0', 'a-1', 'a-2'].map((id) => known.of('u', id))).toEqual([undefined, 'sandbox-0', undefined]);
});

test('ContainerSandboxes lists the containers whose records were removed, with their sandboxes', () => {
  const known = new ContainerSandboxes();
  known.seen('u', SANDBOXES, [record('a', 'exited'), record('b', 'running')]);
  expect([...known.without('u', [record('b', 'running')])]).toEqual([['a-0', 'sandbox-0']]);
  expect(known.without('other', []).size).toBe(0);
});

test('K4: ContainerSandboxes drops a pod without a sandbox, and a removed pod', () => {
  const known = new ContainerSandboxes();
  for (const uid of ['u', 'v']) known.seen(uid, SANDBOXES, [record('a', 'running')]);
  known.seen('u', [], [record('a', 'exited')]);
  expect(known.of('u', 'a-0')).toBeUndefined();
  known.forget('v');
  expect(known.size).toBe(0);
});
