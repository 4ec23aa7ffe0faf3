import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CheckpointStore, type CheckpointStoreOptions, contentChecksum, type JsonObject } from '../src/index.ts';

function make(options: Partial<CheckpointStoreOptions> = {}): { fs: MemoryFileSystem; store: CheckpointStore } {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  return { fs, store: new CheckpointStore({ fs }, { directory: '/var/lib/kubelet/state', ...options }) };
}

const path = '/var/lib/kubelet/state/cpu_manager_state';

describe('CheckpointStore', () => {
  it('returns the content last written, and undefined if there is none', async () => {
    const { fs, store } = make();
    expect(await store.get('cpu_manager_state')).toBeUndefined();
    await store.create('cpu_manager_state', { policyName: 'static', entries: { a: { b: '0-3' } } });
    await store.create('cpu_manager_state', { policyName: 'none', dropped: undefined });
    expect(await store.get('cpu_manager_state')).toEqual({ policyName: 'none' });
    expect((await fs.stat(path)).mode).toBe(0o600);
    expect((await fs.stat('/var/lib/kubelet/state')).mode).toBe(0o750);
  });

  it('writes a JSON object with a checksum field beside the content', async () => {
    const { fs, store } = make();
    await store.create('cpu_manager_state', { b: 1, a: 'x' });
    expect(JSON.parse(new TextDecoder().decode(await fs.readFile(path)))).toEqual({
      a: 'x',
      b: 1,
      checksum: 4155642861,
    });
  });

  it('writes files of other programs with the checksum field and function that the options set', async () => {
    const { fs, store } = make({ checksumField: 'Checksum', checksum: () => 42 });
    await store.create('cpu_manager_state', { Data: {}, checksum: 'free' });
    expect(new TextDecoder().decode(await fs.readFile(path))).toBe('{"Data":{},"checksum":"free","Checksum":42}');
    expect(await store.get('cpu_manager_state')).toEqual({ Data: {}, checksum: 'free' });
  });

  it('makes its directory once, and again only if the directory was removed', async () => {
    const { fs, store } = make();
    let made = 0;
    fs.injectFault({ operation: 'mkdir', code: 'EIO', path: () => made++ < 0 });
    await store.create('a', {});
    const first = made;
    await store.create('a', { b: 1 });
    expect(made).toBe(first);
    await fs.removeAll('/var/lib/kubelet');
    await store.create('a', { c: 1 });
    expect(await store.get('a')).toEqual({ c: 1 });
  });

  it('syncDirectory makes a checkpoint of a killed process survive a power loss, and accepts a missing directory', async () => {
    const { fs, store } = make();
    await store.syncDirectory();
    const fault = fs.injectFault({ operation: 'syncDirectory', code: 'EIO', times: 2 });
    await expect(store.create('a', { b: 1 })).rejects.toMatchObject({ code: 'EIO' });
    await expect(store.syncDirectory()).rejects.toMatchObject({ code: 'EIO' });
    expect(fault.hits).toBe(2);
    await store.syncDirectory();
    fs.powerLoss();
    expect(await store.get('a')).toEqual({ b: 1 });
  });

  it('treats undefined options as absent', async () => {
    const { store } = make({ checksumField: undefined, checksum: undefined } as object);
    await store.create('cpu_manager_state', { a: 1 });
    expect(await store.get('cpu_manager_state')).toEqual({ a: 1 });
  });

  it('lists keys sorted, without leftovers, directories and invalid names, and removes the given keys', async () => {
    const { fs, store } = make();
    expect(await store.list()).toEqual([]);
    await store.remove('nothing');
    await store.create('b', {});
    await store.create('a.1', {});
    await fs.writeFile('/var/lib/kubelet/state/.tmp-1-2', 'half');
    await fs.writeFile('/var/lib/kubelet/state/a~', '');
    await fs.mkdir('/var/lib/kubelet/state/sub');
    expect(await store.list()).toEqual(['a.1', 'b']);
    await store.remove('b');
    await store.removeLeftovers();
    expect(await store.list()).toEqual(['a.1']);
    expect(fs.paths()).toContain('/var/lib/kubelet/state/a~');
    expect(fs.paths()).not.toContain('/var/lib/kubelet/state/.tmp-1-2');
  });

  it.each([
    ['', 'it is not JSON'],
    ['{"policyName":"none","che', 'it is not JSON'],
    ['\xff', 'it is not JSON'],
    ['[]', 'it is not a JSON object'],
    ['null', 'it is not a JSON object'],
    ['{"policyName":"none"}', 'it has no checksum'],
    ['{"checksum":"1"}', 'it has no checksum'],
    ['{"policyName":"none","checksum":1}', 'its checksum is 1015607022, not 1'],
  ])('reports the file content %j as corrupt, naming the file: %s', async (content, reason) => {
    const { fs, store } = make();
    await fs.mkdir('/var/lib/kubelet/state');
    await fs.writeFile(path, Buffer.from(content, 'latin1'));
    await expect(store.get('cpu_manager_state')).rejects.toMatchObject({
      name: 'CheckpointError',
      code: 'CorruptCheckpoint',
      path,
      message: `checkpoint "${path}" is corrupt: ${reason}`,
    });
    await store.create('cpu_manager_state', { policyName: 'static' });
    expect(await store.get('cpu_manager_state')).toEqual({ policyName: 'static' });
  });

  it.each(['', '.', '..', '.hidden', 'a/b', '../escape', 'a\0b', 'a b', '-a', 'a'.repeat(251)])(
    'W3: rejects the key %j, which would leave the directory or is not a file name',
    async (key) => {
      const { fs, store } = make();
      const refusal = expect.objectContaining({ code: 'InvalidKey' });
      await expect(store.create(key, {})).rejects.toEqual(refusal);
      await expect(store.get(key)).rejects.toEqual(refusal);
      await expect(store.remove(key)).rejects.toEqual(refusal);
      expect(fs.paths()).toEqual([]);
    },
  );

  it('rejects content that cannot be restored from JSON', async () => {
    const { store } = make();
    await expect(store.create('a', [])).rejects.toMatchObject({ code: 'InvalidContent' });
    await expect(store.create('a', () => {})).rejects.toMatchObject({ code: 'InvalidContent' });
    const round: { self?: object } = {};
    round.self = round;
    await expect(store.create('a', round)).rejects.toMatchObject({ code: 'InvalidContent' });
    await expect(store.create('a', { checksum: 1 })).rejects.toMatchObject({ code: 'InvalidContent' });
  });

  it.runIf(process.platform === 'linux')('W6: does not wait for a FIFO in the place of a checkpoint', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'checkpoint-'));
    try {
      execFileSync('mkfifo', [join(directory, 'a')]);
      const store = new CheckpointStore({ fs: nodeFileSystem }, { directory });
      const asked = store.get('a').catch((err: unknown) => (err as { code?: string }).code);
      const late = new Promise((resolve) => setTimeout(resolve, 3000, 'late'));
      const outcome = await Promise.race([asked, late]);
      if (outcome === 'late') execFileSync('sh', ['-c', 'echo > "$1"', 'sh', join(directory, 'a')]);
      expect(outcome).toBe('ENXIO');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('W3: reports a file that nests too deep as corrupt', async () => {
    const { fs, store } = make();
    await store.create('a', {});
    const depth = 100_000;
    await fs.writeFile('/var/lib/kubelet/state/a', `{"a":${'['.repeat(depth)}${']'.repeat(depth)},"checksum":1}`);
    await expect(store.get('a')).rejects.toMatchObject({ code: 'CorruptCheckpoint' });
  });

  it('passes on errors of the file system', async () => {
    const { fs, store } = make();
    await store.create('a', {});
    fs.injectFault({ code: 'EIO', times: 3 });
    await expect(store.get('a')).rejects.toMatchObject({ code: 'EIO' });
    await expect(store.list()).rejects.toMatchObject({ code: 'EIO' });
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'EIO' });
    expect(await store.get('a')).toEqual({});
  });

  it('keeps the old content when the disk is full', async () => {
    const { fs, store } = make();
    await store.create('a', { version: 1 });
    fs.limitBytes = 60;
    await expect(store.create('a', { version: 2, more: 'x'.repeat(100) })).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await store.get('a')).toEqual({ version: 1 });
    expect(fs.paths().filter((one) => one.includes('.tmp-'))).toEqual([]);
  });

  it('K1: a checkpoint has the complete old or new content after a kill or power loss at any operation', async () => {
    const outcomes = new Set<number>();
    for (let operations = 0; operations <= 12; operations++) {
      for (const powerLoss of [false, true]) {
        const { fs, store } = make();
        await store.create('state', { version: 1 });
        // From here on, the process counts as dead: none of its further operations takes effect.
        const death = fs.injectFault({ code: 'EIO', skip: operations, times: Number.POSITIVE_INFINITY });
        const finished = await store.create('state', { version: 2 }).then(
          () => true,
          () => false,
        );
        death.remove();
        if (powerLoss) fs.powerLoss();
        const next = new CheckpointStore({ fs }, { directory: '/var/lib/kubelet/state' });
        await next.removeLeftovers();
        const version = Number((await next.get('state'))?.version);
        outcomes.add(version);
        expect([1, 2]).toContain(version);
        if (finished) expect(version).toBe(2);
        expect(fs.paths().filter((one) => one.includes('.tmp-'))).toEqual([]);
      }
    }
    expect([...outcomes].sort()).toEqual([1, 2]);
  });

  it('runs operations on one key in order', async () => {
    const { store } = make();
    const writes = Array.from({ length: 10 }, (_, version) => store.create('a', { version }));
    const read = store.get('a');
    const removal = store.remove('a');
    await Promise.all([...writes, removal]);
    expect(await read).toEqual({ version: 9 });
    expect(await store.list()).toEqual([]);
  });

  const json = fc.object({
    values: [fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)],
  });

  it('restores any JSON object, and detects any changed byte', async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.nat(), fc.integer({ min: 1, max: 255 }), async (content, position, change) => {
        const { fs, store } = make();
        await store.create('cpu_manager_state', content);
        expect(await store.get('cpu_manager_state')).toEqual(JSON.parse(JSON.stringify(content)));
        const bytes = await fs.readFile(path);
        const index = position % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ change;
        await fs.writeFile(path, bytes);
        const before = JSON.stringify(content);
        const after = await store.get('cpu_manager_state').catch(() => 'noticed');
        // A change that leaves the parsed JSON the same, such as another notation of a number, need not be detected.
        if (after !== 'noticed') expect(JSON.stringify(sorted(after))).toBe(JSON.stringify(sorted(JSON.parse(before))));
      }),
    );
  });

  it('computes the same checksum for any order of keys', () => {
    expect(contentChecksum({ a: 1, b: { c: [1, 2], d: null } })).toBe(
      contentChecksum({ b: { d: null, c: [1, 2] }, a: 1 }),
    );
    expect(contentChecksum({ a: [{ b: 1, c: 2 }] })).toBe(contentChecksum({ a: [{ c: 2, b: 1 }] }));
    expect(contentChecksum({ a: [1, 2] })).not.toBe(contentChecksum({ a: [2, 1] }));
    expect(contentChecksum({ a: [1, 2] })).not.toBe(contentChecksum({ a: [12] }));
  });

  it('computes the 32-bit FNV-1a checksum of the JSON text', () => {
    expect(contentChecksum({})).toBe(1415952421);
    expect(contentChecksum({ c: { d: 'é' }, a: 1, b: [true, null, 'x'] })).toBe(3424918771);
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject)
      .sort()
      .map(([key, one]) => [key, sorted(one)]),
  );
}
