import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMappings, UserNamespaces, type UserNamespacesOptions } from '../src/index.ts';

const K64 = 65_536;
const PODS = '/var/lib/kubelet/pods';

async function world(pods: readonly string[] = ['a', 'b', 'c']) {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  for (const pod of pods) await fs.mkdir(`${PODS}/${pod}`);
  const manager = (options: Partial<UserNamespacesOptions> = {}): UserNamespaces =>
    new UserNamespaces(
      { fs, random: seededRandom(5) },
      { podsDirectory: PODS, range: { firstId: K64, length: 3 * K64 }, maxPods: 3, ...options },
    );
  const file = async (uid: string): Promise<string> =>
    new TextDecoder().decode(await fs.readFile(`${PODS}/${uid}/userns`));
  return { fs, manager, file };
}

const hostIdOf = async (manager: UserNamespaces, uid: string): Promise<number | undefined> =>
  (await manager.mappings(uid)).uids[0]?.hostId;

describe('user namespaces of pods', () => {
  test('each pod gets its own ID range for users and groups, which contains root', async () => {
    const { manager, file } = await world();
    const namespaces = manager();
    const a = await namespaces.mappings('a');
    expect(a.uids).toEqual([{ hostId: expect.any(Number), containerId: 0, length: K64 }]);
    expect(a.gids).toEqual(a.uids);
    expect(JSON.parse(await file('a'))).toEqual({ uidMappings: a.uids, gidMappings: a.gids });
    expect(await namespaces.mappings('a')).toEqual(a);
    const ids = new Set([
      await hostIdOf(namespaces, 'a'),
      await hostIdOf(namespaces, 'b'),
      await hostIdOf(namespaces, 'c'),
    ]);
    expect([...ids].sort()).toEqual([K64, 2 * K64, 3 * K64].sort());
  });

  test("a pod gets no range while all ranges are allocated, and gets one after another pod's range was released", async () => {
    const { fs, manager } = await world(['a', 'b', 'c', 'd']);
    const namespaces = manager();
    for (const uid of ['a', 'b', 'c']) await namespaces.mappings(uid);
    const b = await hostIdOf(namespaces, 'b');
    await expect(namespaces.mappings('d')).rejects.toThrow(
      'create user namespace: could not find an empty slot to allocate a user namespace',
    );
    await namespaces.release('b');
    expect(await fs.exists(`${PODS}/b/userns`)).toBe(false);
    expect(await hostIdOf(namespaces, 'd')).toBe(b);
    expect(namespaces.size).toBe(3);
  });

  test('K1: a pod keeps its range after a restart, and no other pod gets that range, whichever pod requests its range first', async () => {
    const { manager } = await world();
    const before = await manager().mappings('a');
    const next = manager();
    const others = [await hostIdOf(next, 'b'), await hostIdOf(next, 'c')];
    expect(others).not.toContain(before.uids[0]?.hostId);
    expect(await next.mappings('a')).toEqual(before);
  });

  test('K1: after a kill at any operation a pod keeps the range that was returned, and no range belongs to two pods', async () => {
    for (let point = 0; point < 12; point++) {
      const { fs, manager } = await world();
      const told = new Map<string, number | undefined>();
      let operations = 0;
      const dying = new Proxy(fs, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            if (operations++ >= point) throw new Error('killed');
            return Reflect.apply(member, target, args);
          };
        },
      });
      const first = new UserNamespaces(
        { fs: dying },
        { podsDirectory: PODS, range: { firstId: K64, length: 3 * K64 }, maxPods: 3 },
      );
      for (const uid of ['a', 'b', 'c']) {
        try {
          told.set(uid, await hostIdOf(first, uid));
        } catch {
          break;
        }
      }
      const next = manager();
      const all = new Map<string, number | undefined>();
      for (const uid of ['c', 'b', 'a']) all.set(uid, await hostIdOf(next, uid));
      expect(new Set(all.values()).size).toBe(3);
      for (const [uid, id] of told) expect(all.get(uid)).toBe(id);
    }
  });

  test('a pod keeps its range if only its mappings file is deleted, because its containers use the range', async () => {
    const { fs, manager, file } = await world();
    const namespaces = manager();
    const a = await namespaces.mappings('a');
    await fs.remove(`${PODS}/a/userns`);
    expect(await namespaces.mappings('a')).toEqual(a);
    expect(await file('a')).toContain(String(a.uids[0]?.hostId));
  });

  test('a pod gets no range if the disk is full, and the range stays free', async () => {
    const { fs, manager } = await world();
    const namespaces = manager();
    const fault = fs.injectFault({ operation: 'write', code: 'ENOSPC', times: Number.POSITIVE_INFINITY });
    await expect(namespaces.mappings('a')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(namespaces.size).toBe(0);
    fault.remove();
    for (const uid of ['a', 'b', 'c']) await namespaces.mappings(uid);
  });

  test("a range is released only after the pod's mappings file was removed", async () => {
    const { fs, manager } = await world();
    const namespaces = manager();
    await namespaces.mappings('a');
    const fault = fs.injectFault({ operation: 'remove', code: 'EIO', times: Number.POSITIVE_INFINITY });
    await namespaces.release('a');
    expect(namespaces.size).toBe(1);
    fault.remove();
    await namespaces.releaseOrphans((uid) => uid !== 'a');
    expect(namespaces.size).toBe(0);
  });

  test('releaseOrphans releases the ranges of unknown pods, including those of a previous kubelet process', async () => {
    const { manager, fs } = await world();
    await manager().mappings('a');
    await manager().mappings('b');
    const next = manager();
    await next.releaseOrphans((uid) => uid === 'b');
    expect(next.size).toBe(1);
    expect(await fs.exists(`${PODS}/a/userns`)).toBe(false);
    expect(await fs.exists(`${PODS}/b/userns`)).toBe(true);
  });
});

describe('conflicting ranges of a previous kubelet process', () => {
  test('a pod with an invalid range gets an error, and the IDs that its containers may use are not assigned to other pods', async () => {
    const { fs, manager } = await world();
    // Half of this range is in the pool's second slot, half in the third.
    await fs.writeFile(`${PODS}/a/userns`, formatMappings({ firstId: 2.5 * K64, length: K64 }));
    const namespaces = manager();
    expect(await hostIdOf(namespaces, 'b')).toBe(K64);
    await expect(namespaces.mappings('a')).rejects.toThrow(
      'user namespace: wrong user namespace offset specified 163840',
    );
    await expect(namespaces.mappings('c')).rejects.toThrow('could not find an empty slot');
  });

  test.each([
    ['{"uid', 'user namespace: invalid user namespace mappings file'],
    [formatMappings({ firstId: 40 * K64, length: K64 }), `user namespace: id ${40 * K64} is out of range`],
    [formatMappings({ firstId: K64, length: 2 * K64 }), `user namespace: wrong user namespace length ${2 * K64}`],
  ])('a pod with the mappings file %s gets an error with the problem', async (text, message) => {
    const { fs, manager } = await world();
    await fs.writeFile(`${PODS}/a/userns`, text);
    await expect(manager().mappings('a')).rejects.toThrow(message);
  });

  test('if two mappings files have the same range, then the first pod keeps the range and the other gets an error', async () => {
    const { fs, manager } = await world();
    for (const uid of ['a', 'b']) {
      await fs.writeFile(`${PODS}/${uid}/userns`, formatMappings({ firstId: K64, length: K64 }));
    }
    const namespaces = manager();
    expect(await hostIdOf(namespaces, 'a')).toBe(K64);
    await expect(namespaces.mappings('b')).rejects.toThrow('user namespace: range picked for pod "b" already taken');
  });

  test('a range that two mappings files contain is not assigned to a third pod while either pod exists', async () => {
    const { fs, manager } = await world(['a', 'b', 'c', 'd']);
    for (const uid of ['a', 'b']) {
      await fs.writeFile(`${PODS}/${uid}/userns`, formatMappings({ firstId: K64, length: K64 }));
    }
    const namespaces = manager();
    await namespaces.mappings('a');
    await namespaces.release('a');
    const others = [await hostIdOf(namespaces, 'c'), await hostIdOf(namespaces, 'd')];
    expect(others).not.toContain(K64);
    // Pod b may use the range now; after pod b is removed, the range is free.
    expect(await hostIdOf(namespaces, 'b')).toBe(K64);
    await namespaces.release('b');
    expect(await hostIdOf(namespaces, 'a')).toBe(K64);
  });

  test('the slots that a pod with an invalid range blocks are free after the pod is removed', async () => {
    const { fs, manager } = await world(['a', 'b', 'c', 'd']);
    await fs.writeFile(`${PODS}/a/userns`, formatMappings({ firstId: 2.5 * K64, length: K64 }));
    const namespaces = manager();
    expect(await hostIdOf(namespaces, 'b')).toBe(K64);
    await expect(namespaces.mappings('c')).rejects.toThrow('could not find an empty slot');
    await namespaces.releaseOrphans((uid) => uid !== 'a');
    expect([await hostIdOf(namespaces, 'c'), await hostIdOf(namespaces, 'd')].sort()).toEqual([2 * K64, 3 * K64]);
  });

  test("if a pod's range cannot be determined, no new pod gets a range until that pod is removed; other pods keep their ranges", async () => {
    const { fs, manager } = await world();
    await fs.writeFile(`${PODS}/a/userns`, formatMappings({ firstId: 2 * K64, length: K64 }));
    await fs.writeFile(`${PODS}/b/userns`, '{"uid');
    const namespaces = manager();
    expect(await hostIdOf(namespaces, 'a')).toBe(2 * K64);
    await expect(namespaces.mappings('c')).rejects.toThrow(
      'create user namespace: the IDs of pod "b" are unknown: invalid user namespace mappings file',
    );
    await namespaces.releaseOrphans((uid) => uid !== 'b');
    expect([K64, 3 * K64]).toContain(await hostIdOf(namespaces, 'c'));
  });

  test("a pod whose mappings file was repaired gets that file's range, and other pods get ranges again", async () => {
    const { fs, manager } = await world();
    await fs.writeFile(`${PODS}/b/userns`, '{"uid');
    const namespaces = manager();
    await expect(namespaces.mappings('c')).rejects.toMatchObject({ code: 'InvalidFile' });
    await fs.writeFile(`${PODS}/b/userns`, formatMappings({ firstId: K64, length: K64 }));
    expect(await hostIdOf(namespaces, 'b')).toBe(K64);
    expect([2 * K64, 3 * K64]).toContain(await hostIdOf(namespaces, 'c'));
  });

  test.each(['directory', 'fifo', 'large'])(
    "if a %s has the name of the mappings file, then no pod gets a range, because the pod's IDs are unknown",
    async (what) => {
      const { fs, manager } = await world();
      const path = `${PODS}/a/userns`;
      if (what === 'directory') await fs.mkdir(path);
      else if (what === 'fifo') fs.makeSpecial(path, 'fifo');
      else await fs.writeFile(path, ' '.repeat(70_000));
      const namespaces = manager();
      await expect(namespaces.mappings('b')).rejects.toMatchObject({ code: 'InvalidFile' });
      await expect(namespaces.mappings('a')).rejects.toMatchObject({ code: 'InvalidFile' });
    },
  );

  test("mappings fails if the pods' directory is unreadable, and reads the directory again at the next call", async () => {
    const { fs, manager } = await world();
    const namespaces = manager();
    const fault = fs.injectFault({ operation: 'readdir', code: 'EIO', times: Number.POSITIVE_INFINITY });
    await expect(namespaces.mappings('a')).rejects.toMatchObject({ code: 'EIO' });
    fault.remove();
    await namespaces.mappings('a');
  });
});

test('the constructor rejects an ID range that is too small for the number of pods', async () => {
  const { manager } = await world();
  expect(() => manager({ maxPods: 4 })).toThrow('kubelet user assigned IDs are not enough to support 4 pods');
});

test('for random additions and removals of pods, each pod has its own range and no range is lost', async () => {
  const step = fc.record({
    uid: fc.constantFrom('a', 'b', 'c', 'd'),
    act: fc.constantFrom('take', 'release', 'restart', 'sweep'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { manager } = await world(['a', 'b', 'c', 'd']);
      let namespaces = manager();
      const has = new Map<string, number | undefined>();
      for (const { uid, act } of steps) {
        if (act === 'restart') namespaces = manager();
        else if (act === 'release') {
          // The kubelet calls `releaseOrphans` only when it knows all pods, and by then a new process has read all
          // mappings.
          await namespaces.releaseOrphans((one) => one !== uid);
          has.delete(uid);
        } else if (act === 'sweep') await namespaces.releaseOrphans((one) => has.has(one));
        else if (has.size === 3 && !has.has(uid)) await expect(namespaces.mappings(uid)).rejects.toThrow('empty slot');
        else {
          const id = await hostIdOf(namespaces, uid);
          if (has.has(uid)) expect(id).toBe(has.get(uid));
          has.set(uid, id);
        }
        expect(new Set(has.values()).size).toBe(has.size);
      }
    }),
    { numRuns: 60 },
  );
});

test.each(['', '.', '..', '../a', 'a/b', 'a\0'])(
  'W3: the pod UID %j is rejected because it is not a valid directory name, and no file is read or written',
  async (uid) => {
    const { fs, manager } = await world();
    const namespaces = manager();
    await expect(namespaces.mappings(uid)).rejects.toMatchObject({ code: 'InvalidUid' });
    await namespaces.release(uid);
    expect(namespaces.size).toBe(0);
    expect(await fs.exists(`${PODS}/userns`)).toBe(false);
    expect(await fs.exists('/var/lib/kubelet/a')).toBe(false);
  },
);
