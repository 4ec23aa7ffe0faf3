import { expect, test } from 'vitest';
import { cleanUpOrphans, type OrphanComponents } from '../src/sync/orphans.ts';

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function parts(work: () => Promise<void>, withUserNamespaces = true) {
  const asked: string[] = [];
  const logged: unknown[] = [];
  const note = (what: string) => (isKnown: (uid: string) => boolean) => {
    asked.push(`${what} ${isKnown('known')} ${isKnown('gone')}`);
    return work();
  };
  const components = {
    volumes: { cleanupOrphanedPodDirs: note('volumes') },
    podCgroups: { removeOrphans: note('groups') },
    ...(withUserNamespaces && { userNamespaces: { releaseOrphans: note('user namespaces') } }),
    logger: { error: ({ err }: { err: Error }, message: string) => logged.push([err.message, message]) },
  } as unknown as OrphanComponents;
  return { components, asked, logged };
}

test('all components clean up after pods that the kubelet does not know', async () => {
  const { components, asked, logged } = parts(async () => {});
  cleanUpOrphans(components, (uid) => uid === 'known', new AbortController().signal);
  await tick();
  expect(asked).toEqual(['volumes true false', 'groups true false', 'user namespaces true false']);
  expect(logged).toEqual([]);
});

test('a failed clean-up of orphaned pods is logged and does not stop the other clean-ups; nothing is logged after the abort', async () => {
  const ending = new AbortController();
  for (const expected of [
    [
      ['busy', 'Failed cleaning up orphaned pod directories'],
      ['busy', 'Failed cleaning up orphaned pods user namespaces'],
    ],
    [],
  ]) {
    let calls = 0;
    // PodCgroups logs its own failures.
    const { components, logged } = parts(async () => {
      calls += 1;
      if (calls !== 2) throw new Error('busy');
    });
    cleanUpOrphans(components, () => true, ending.signal);
    await tick();
    expect(calls).toBe(3);
    expect(logged).toEqual(expected);
    ending.abort();
  }
});

test('cleans up orphaned pods without a user namespace manager', async () => {
  const { components, asked } = parts(async () => {}, false);
  cleanUpOrphans(components, () => false, new AbortController().signal);
  expect(asked).toEqual(['volumes false false', 'groups false false']);
});
