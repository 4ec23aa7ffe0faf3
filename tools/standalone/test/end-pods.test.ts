import type { CriClient } from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import { endPods } from '../src/end-pods.ts';

test('endPods stops and removes the other pods if one pod cannot be stopped', async () => {
  const failed = new Error('stop sandbox a: busy');
  const removed: string[] = [];
  const client = {
    listPodSandbox: async () => ({ items: ['a', 'b', 'c'].map((id) => ({ id, metadata: null, labels: {} })) }),
    listContainers: async () => ({
      containers: [{ id: 'slow', podSandboxId: 'b', annotations: {} }],
    }),
    stopContainer: () => new Promise((resolve) => setImmediate(resolve)),
    stopPodSandbox: async ({ podSandboxId }: { podSandboxId: string }) => {
      if (podSandboxId === 'a') throw failed;
    },
    removePodSandbox: async ({ podSandboxId }: { podSandboxId: string }) => void removed.push(podSandboxId),
  } as unknown as CriClient;
  const left: string[][] = [];
  const ended = endPods(
    client,
    () => true,
    new AbortController().signal,
    (pods) => left.push(pods.map(({ name }) => name)),
  );
  await expect(ended).rejects.toBe(failed);
  expect(removed).toEqual(['c', 'b']);
  expect(left).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']]);
});
