import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { ResourceRequirements } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dataChecksum, decodePods, encodePods, PodResourceState, type PodResources } from '../src/index.ts';
import { exactly } from './pods.ts';

const FILE = '/root/allocated_pods_state';

function setUp() {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  let writes = 0;
  let fault: Error | undefined;
  let gate: Promise<void> | undefined;
  let syncGate: Promise<void> | undefined;
  const counting: ConstructorParameters<typeof PodResourceState>[0]['fs'] = {
    mkdir: (path, options) => fs.mkdir(path, options),
    readdir: (path) => fs.readdir(path),
    open: (path, flags) => fs.open(path, flags),
    remove: (path) => fs.remove(path),
    async writeFileAtomic(path, data, options) {
      writes++;
      await gate;
      if (fault !== undefined) throw fault;
      await fs.writeFileAtomic(path, data, options);
      await syncGate;
    },
  };
  const make = (): PodResourceState =>
    new PodResourceState({ fs: counting }, { directory: '/root', name: 'allocated_pods_state' });
  const text = async (): Promise<string> => new TextDecoder().decode(await fs.readFile(FILE));
  return {
    ...{ fs, make, text },
    writes: () => writes,
    fail: (error: Error | undefined) => {
      fault = error;
    },
    hold: (until: Promise<void> | undefined) => {
      gate = until;
    },
    holdSync: (until: Promise<void> | undefined) => {
      syncGate = until;
    },
  };
}

describe('the state file', () => {
  test('writes the state file byte for byte as upstream does', async () => {
    const { make, text } = setUp();
    const state = make();
    const written = { limits: { memory: '1073741824', cpu: '0.5' }, requests: { cpu: '100m', memory: '64Mi' } };
    state.set('uid-b', { containers: { web: written, a: {} }, pod: written });
    state.set('uid-a', { containers: {} });
    await state.saved('uid-a');
    // A Go program generated this text with upstream's types (k8s.io/api 0.36.3), JSON encoder and checksum.
    expect(await text()).toBe(GOLDEN);
  });

  test('reads back the saved state regardless of the order of the pods', async () => {
    const { make } = setUp();
    const first = make();
    first.set('b', { containers: { c: exactly('1', '1Gi') }, pod: exactly('2', '2Gi') });
    first.set('a', { containers: { '<&>': {} } });
    await first.saved('b');
    const second = make();
    await second.load();
    expect(second.get('b')).toEqual({ containers: { c: exactly('1', '1Gi') }, pod: exactly('2', '2Gi') });
    expect(second.get('a')).toEqual({ containers: { '<&>': {} } });
    expect(second.get('none')).toBeUndefined();
  });

  test.each([
    ['content that is not JSON', 'nonsense'],
    ['a wrong checksum', '{"data":"{}","checksum":1}'],
    ['data that is not a string', `{"data":{},"checksum":${dataChecksum({ data: {} })}}`],
    ['an invalid quantity', file('{"entries":{"u":{"ContainerResources":{"c":{"limits":{"cpu":"much"}}}}}}')],
    ['a pod entry that is not an object', file('{"entries":{"u":7}}')],
  ])("load rejects a state file with %s with upstream's message, which names the file", async (_what, content) => {
    const { fs, make } = setUp();
    await fs.mkdir('/root');
    await fs.writeFile(FILE, content);
    await expect(make().load()).rejects.toMatchObject({
      code: 'Unreadable',
      message: expect.stringMatching(
        /^could not restore state from checkpoint: .*, please drain this node and delete pod resource information checkpoint file "\/root\/allocated_pods_state" before restarting Kubelet$/,
      ),
    });
  });

  test.each(['directory', 'fifo', 'socket'] as const)(
    'W6: load rejects immediately if the path of the state file is a %s',
    async (kind) => {
      const { fs, make } = setUp();
      await fs.mkdir(kind === 'directory' ? FILE : '/root');
      if (kind !== 'directory') fs.makeSpecial(FILE, kind);
      await expect(make().load()).rejects.toMatchObject({ code: 'Unreadable' });
    },
  );

  test('K1: a process that did not load the state file keeps the entries of an earlier process', async () => {
    const { fs, make, text } = setUp();
    const first = make();
    first.set('a', { containers: { c: exactly('1', '1Gi') } });
    await first.saved('a');
    const second = make();
    second.set('b', { containers: {} });
    await second.saved('b');
    const third = make();
    await third.load();
    expect(third.uids()).toEqual(['a', 'b']);

    await fs.writeFile(FILE, 'nonsense');
    const fourth = make();
    fourth.set('d', { containers: {} });
    await expect(fourth.saved('d')).rejects.toMatchObject({ code: 'Unreadable' });
    expect(await text()).toBe('nonsense');
  });

  test('encodePods omits empty fields as upstream does', () => {
    expect(encodePods(new Map()).data).toBe('{}');
    const data = (resources: ResourceRequirements): string =>
      encodePods(new Map([['u', { containers: { c: resources } }]])).data;
    const of = (c: string): string => `{"entries":{"u":{"ContainerResources":{"c":${c}},"PodLevelResources":null}}}`;
    expect(data({ limits: {}, requests: {}, claims: [] })).toBe(of('{}'));
    expect(data({ limits: { cpu: '1' } })).toBe(of('{"limits":{"cpu":"1"}}'));
    expect(data({ requests: { cpu: '1' } })).toBe(of('{"requests":{"cpu":"1"}}'));
    expect(data({ claims: [{ name: 'gpu' }] })).toBe(of('{"claims":[{"name":"gpu"}]}'));
  });

  test('decodePods accepts empty fields that are null or absent', () => {
    expect(decodePods({ data: '{}' })).toEqual(new Map());
    expect(decodePods({ data: '{"entries":null}' })).toEqual(new Map());
    const pod = '{"ContainerResources":null,"PodLevelResources":null}';
    expect(decodePods({ data: `{"entries":{"u":${pod}}}` })).toEqual(new Map([['u', { containers: {} }]]));
  });

  test.each([
    [{ data: 7 }, 'field data must be a string'],
    [{}, 'field data must be a string'],
    [{ data: '7' }, 'data must be an object'],
    [{ data: '{"entries":[]}' }, 'entries must be an object'],
    [{ data: '{"entries":{"u":null}}' }, 'entries[u] must be an object'],
    [{ data: '{"entries":{"u":{"ContainerResources":7}}}' }, 'entries[u].ContainerResources must be an object'],
    [{ data: '{"entries":{"u":{"ContainerResources":{"c":7}}}}' }, 'u/c must be an object'],
    [{ data: '{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":"much"}}}}}}' }, 'much'],
  ])('decodePods rejects %j with a message that names the invalid field', (content, message) => {
    expect(() => decodePods(content as never)).toThrow(message);
  });

  test('encodePods reads the resources of a pod once, however many pods change after it', () => {
    let reads = 0;
    const pod: PodResources = {
      get containers() {
        reads++;
        return { c: { requests: { cpu: '1' } } };
      },
    };
    const first = encodePods(new Map([['b', pod]])).data;
    const both = encodePods(
      new Map<string, PodResources>([
        ['b', pod],
        ['a', { containers: {} }],
      ]),
    ).data;
    expect(reads).toBe(1);
    expect(Object.entries(JSON.parse(both).entries)).toEqual([
      ['a', { ContainerResources: {}, PodLevelResources: null }],
      ['b', JSON.parse(first).entries.b],
    ]);
  });

  test('encodePods and decodePods return any pods unchanged', () => {
    const quantity = fc.constantFrom('1', '100m', '1536Mi', '0', '2500m', '15e2');
    const list = fc.dictionary(fc.constantFrom('cpu', 'memory', 'example.com/gpu'), quantity, { minKeys: 1 });
    const resources = fc.record({ limits: list, requests: list }, { requiredKeys: [] });
    const name = fc.string({ minLength: 1 }).filter((text) => text !== '__proto__');
    const pod = fc.record(
      { containers: fc.dictionary(name, resources, { noNullPrototype: true }), pod: resources },
      { requiredKeys: ['containers'] },
    );
    const pods = fc.dictionary(name, pod, { noNullPrototype: true });
    fc.assert(
      fc.property(pods, (all) => {
        const before = new Map(Object.entries(all as Record<string, PodResources>));
        const once = encodePods(before);
        expect(encodePods(decodePods(once))).toEqual(once);
        expect([...decodePods(once).keys()].sort()).toEqual([...before.keys()].sort());
      }),
    );
  });
});

describe('saving the pod resource state', () => {
  test('combines a hundred concurrent changes into two writes', async () => {
    const { make, writes, hold, text } = setUp();
    const state = make();
    await state.load();
    let release = (): void => {};
    hold(new Promise((resolve) => (release = resolve)));
    const saves = Array.from({ length: 100 }, (_, index) => {
      state.set(`u${index}`, { containers: {} });
      return state.saved(`u${index}`);
    });
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await Promise.all(saves);
    expect(writes()).toBe(2);
    for (let index = 0; index < 100; index++) expect(await text()).toContain(`u${index}`);
  });

  test('keeps a change whose write failed in memory and writes the change at the next save request', async () => {
    const { make, fail, text } = setUp();
    const state = make();
    fail(new Error('ENOSPC'));
    state.set('u', { containers: { c: exactly('1', '1Gi') } });
    await expect(state.saved('u')).rejects.toThrow('ENOSPC');
    expect(state.get('u')).toEqual({ containers: { c: exactly('1', '1Gi') } });
    // A save of another pod does not wait for the failed write.
    await state.saved('other');
    fail(undefined);
    await state.saved('u');
    expect(await text()).toContain('1Gi');
  });

  test('skips the write for an unchanged entry and deletes a removed entry with the next write', async () => {
    const { make, writes, text } = setUp();
    const state = make();
    state.set('u', { containers: {} });
    state.set('v', { containers: {} });
    await state.saved('v');
    state.set('u', { containers: {} });
    await state.saved('u');
    expect(writes()).toBe(1);
    state.retain(new Set(['u']));
    expect(await text()).toContain('v');
    state.setContainer('u', 'c', {});
    state.setPod('u', exactly('1', '1Gi'));
    await state.saved('u');
    expect(await text()).not.toContain('"v');
    expect(state.get('u')).toEqual({ containers: { c: {} }, pod: exactly('1', '1Gi') });
  });
});

describe('K1: a state that is written but not saved', () => {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const settled = async (promise: Promise<void>): Promise<boolean> => {
    let isSettled = false;
    promise.finally(() => (isSettled = true)).catch(() => undefined);
    await turn();
    return isSettled;
  };

  test('written resolves when another process reads the change, and saved when the directory is synced too', async () => {
    const { make, holdSync } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    holdSync(promise);
    const state = make();
    state.set('u', { containers: {} });
    const saved = state.saved('u');
    await state.written('u');
    const other = make();
    await other.load();
    expect(other.uids()).toEqual(['u']);
    expect(await settled(saved)).toBe(false);
    resolve();
    await saved;
  });

  test('a power loss undoes a change that is written, and not one that is saved', async () => {
    const { fs, make } = setUp();
    const state = make();
    state.set('u', { containers: {} });
    await state.saved('u');
    const held = fs.injectFault({ operation: 'syncDirectory', code: 'EIO' });
    state.set('v', { containers: {} });
    await state.written('v');
    fs.powerLoss();
    const afterLoss = make();
    await afterLoss.load();
    expect(afterLoss.uids()).toEqual(['u']);
    expect(held.hits).toBe(1);
    await state.saved('v');
    fs.powerLoss();
    const afterSave = make();
    await afterSave.load();
    expect(afterSave.uids()).toEqual(['u', 'v']);
  });

  test('written waits for the next write if the running write has already replaced the file without the change', async () => {
    const { make, holdSync, writes, text } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    holdSync(promise);
    const state = make();
    state.set('u', { containers: {} });
    await state.written('u');
    state.set('v', { containers: {} });
    const written = state.written('v');
    expect(await settled(written)).toBe(false);
    expect(await text()).not.toContain('"v');
    resolve();
    await written;
    expect([writes(), await text()]).toEqual([2, expect.stringContaining('v')]);
  });

  test('written rejects if the file cannot be replaced, and writes again when it is called again', async () => {
    const { make, fail, text } = setUp();
    const state = make();
    fail(new Error('ENOSPC'));
    state.set('u', { containers: {} });
    await expect(state.written('u')).rejects.toThrow('ENOSPC');
    fail(undefined);
    await state.written('u');
    expect(await text()).toContain('u');
  });
});

describe('K1: saving a state that is already on disk', () => {
  const of = (memory: string): PodResources => ({ containers: { c: exactly('1', memory) } });

  async function afterRestart() {
    const all = setUp();
    const first = all.make();
    for (const uid of ['u', 'v']) first.set(uid, of('1Gi'));
    await first.saved('v');
    const state = all.make();
    await state.load();
    return { ...all, state };
  }

  test('saves an unchanged pod without a write, so a full disk does not fail the save even if other pods changed', async () => {
    const { state, fail, text } = await afterRestart();
    fail(new Error('ENOSPC'));
    state.set('u', of('1024Mi'));
    await state.saved('u');
    state.remove('v');
    state.set('new', of('1Gi'));
    await expect(state.saved('new')).rejects.toThrow('ENOSPC');
    state.set('u', of('1Gi'));
    await state.saved('u');
    state.set('u', of('2Gi'));
    await expect(state.saved('u')).rejects.toThrow('ENOSPC');
    fail(undefined);
    await state.saved('u');
    expect(await text()).toContain('2Gi');
    expect(await text()).not.toContain('"v');
  });

  test('does not treat the old entry as saved while another value is being written, or after that write failed', async () => {
    const { state, fail, hold, text, writes } = await afterRestart();
    const before = writes();
    let release = (): void => {};
    hold(new Promise((resolve) => (release = resolve)));
    state.set('u', of('2Gi'));
    const other = state.saved('u');
    state.set('u', of('1Gi'));
    const back = state.saved('u');
    release();
    await Promise.all([other, back]);
    expect(await text()).not.toContain('2Gi');
    expect(writes() - before).toBe(2);

    fail(new Error('EIO'));
    state.set('u', of('2Gi'));
    await expect(state.saved('u')).rejects.toThrow('EIO');
    state.set('u', of('1Gi'));
    await expect(state.saved('u')).rejects.toThrow('EIO');
    fail(undefined);
    await state.saved('u');
    expect(writes() - before).toBe(5);
  });
});

function file(data: string): string {
  return JSON.stringify({ data, checksum: dataChecksum({ data }) });
}

const GOLDEN = String.raw`{"data":"{\"entries\":{\"uid-a\":{\"ContainerResources\":{},\"PodLevelResources\":null},\"uid-b\":{\"ContainerResources\":{\"a\":{},\"web\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1073741824\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}}},\"PodLevelResources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"1073741824\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}}}}}","checksum":1459827990}`;
