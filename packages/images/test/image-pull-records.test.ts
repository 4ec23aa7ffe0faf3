import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { type MetricOptions, type Metrics, silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { ImageManager, ImagePullRecords, type ImagePullRecordsOptions, type PullCredential } from '../src/index.ts';

const PULLED = '/kubelet/image_manager/pulled';
const PULLING = '/kubelet/image_manager/pulling';

const hashOf = (name: string): string => createHash('sha256').update(name).digest('hex');

/** Creates a node with a registry from which only the user `tenant` may pull `app:1`. */
function node(options: Partial<ImagePullRecordsOptions> = {}) {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const images = new Map<string, string>();
  const pulls: string[] = [];
  const counts = new Map<string, number>();
  const metrics: Metrics = {
    counter: ({ name }: MetricOptions<string>) => ({
      inc: (labels: object) => {
        const key = [name, ...Object.values(labels)].join(' ');
        counts.set(key, (counts.get(key) ?? 0) + 1);
      },
    }),
    gauge: ({ name }: MetricOptions<string>) => ({
      set: (_labels: object, value: number) => void counts.set(name, value),
    }),
    histogram: () => ({ observe() {} }),
  };
  const state = { duringPull: async (): Promise<void> => {} };
  const image = (name: string, id: string) => ({
    id,
    repoTags: [name],
    repoDigests: [],
    size: 1,
    uid: null,
    username: '',
    spec: null,
    pinned: false,
  });
  const service = {
    imageStatus: async ({ image: spec }: { image?: { image?: string } | null }) => {
      const name = spec?.image ?? '';
      const id = images.get(name);
      return { image: id === undefined ? null : image(name, id), info: {} };
    },
    pullImage: async ({
      image: spec,
      auth,
    }: {
      image?: { image?: string } | null;
      auth?: { username?: string } | null;
    }) => {
      const name = spec?.image ?? '';
      pulls.push(`${name} ${auth?.username ?? ''}`.trim());
      await state.duringPull();
      if (name.startsWith('app') && auth?.username !== 'tenant') throw new Error('denied');
      images.set(name, `sha256:${name}`);
      return { imageRef: `sha256:${name}` };
    },
    listImages: async () => ({ images: [...images].map(([name, id]) => image(name, id)) }),
  };
  const credentials = new Map<string, readonly PullCredential[]>();
  const newRecords = (): ImagePullRecords =>
    new ImagePullRecords(
      { fs, clock, logger: silentLogger, metrics, images: service },
      { rootDirectory: '/kubelet', ...options },
    );
  const newManager = (records = newRecords()): ImageManager =>
    new ImageManager(
      {
        images: service,
        clock,
        logger: silentLogger,
        metrics,
        recorder: { event() {} },
        credentials: { lookup: async ({ metadata }) => credentials.get(metadata.name) ?? [] },
        records,
      },
      { qps: 0 },
    );
  let manager = newManager();
  const use = async (podName: string, name = 'app:1', imagePullPolicy = 'IfNotPresent'): Promise<string> => {
    const pod: Pod = { metadata: { name: podName, namespace: 'shop', uid: podName }, spec: { containers: [] } };
    const container = { name: 'main', image: name, imagePullPolicy };
    return await manager.ensureImageExists(pod, container, {}, '', new AbortController().signal).then(
      () => 'used',
      (error: { code: string }) => error.code,
    );
  };
  const restart = (): ImagePullRecords => {
    const records = newRecords();
    manager = newManager(records);
    return records;
  };
  const files = (directory: string): string[] => fs.paths().filter((path) => path.startsWith(`${directory}/`));
  return { clock, fs, service, images, pulls, counts, state, credentials, use, restart, files };
}

const tenant = (secretName: string, credentialHash = 'hash'): PullCredential => ({
  username: 'tenant',
  password: 'p',
  source: { secret: { uid: `${secretName}-uid`, namespace: 'shop', name: secretName, credentialHash } },
});

describe('an image pulled with a secret', () => {
  it('an image pulled with a secret may be used only by pods that prove by a pull that they have access', async () => {
    const { credentials, pulls, use } = node();
    credentials.set('one', [tenant('a')]);
    credentials.set('two', [tenant('a')]);
    expect(await use('one')).toBe('used');
    expect(await use('two')).toBe('used');
    expect(pulls).toEqual(['app:1 tenant']);
    expect(await use('stranger')).toBe('ErrImagePull');
    expect(await use('stranger', 'app:1', 'Never')).toBe('ErrImageNeverPull');
    expect(pulls).toEqual(['app:1 tenant', 'app:1']);
  });

  it('K1: an image pulled with a secret stays restricted after a kubelet restart', async () => {
    const { credentials, pulls, use, restart } = node();
    credentials.set('one', [tenant('a')]);
    await use('one');
    restart();
    expect(await use('one')).toBe('used');
    expect(pulls).toHaveLength(1);
    expect(await use('stranger')).toBe('ErrImagePull');
  });

  it('an image pulled with a secret may be used by pods with the same credential in another secret, even after the first is deleted', async () => {
    const { credentials, pulls, use } = node();
    credentials.set('one', [tenant('a')]);
    await use('one');
    credentials.set('two', [tenant('b')]);
    expect(await use('two')).toBe('used');
    credentials.set('two', [tenant('b', 'rotated')]);
    expect(await use('two')).toBe('used');
    expect(pulls).toHaveLength(1);
  });

  it("an image pulled with a service account's token may be used by pods of that service account", async () => {
    const { credentials, pulls, use } = node();
    const robot = { uid: 'u', namespace: 'shop', name: 'robot' };
    credentials.set('one', [{ username: 'tenant', source: { serviceAccount: robot } }]);
    credentials.set('two', [{ username: 'other', source: { serviceAccount: { ...robot } } }]);
    credentials.set('three', [{ username: 'other', source: { serviceAccount: { ...robot, uid: 'anew' } } }]);
    expect([await use('one'), await use('two'), await use('three')]).toEqual(['used', 'used', 'ErrImagePull']);
    expect(pulls).toEqual(['app:1 tenant', 'app:1 other']);
  });

  it('an image that was pulled with node credentials or anonymously may be used by all pods', async () => {
    const { credentials, pulls, use } = node();
    credentials.set('one', [{ username: 'tenant' }]);
    await use('one');
    await use('one', 'public:1');
    expect([await use('stranger'), await use('stranger', 'public:1')]).toEqual(['used', 'used']);
    expect(pulls).toHaveLength(2);
  });

  it('the record of a pulled image has the credential that succeeded if there are several', async () => {
    const { credentials, use } = node();
    credentials.set('one', [{ username: 'wrong' }, tenant('a')]);
    expect(await use('one')).toBe('used');
    expect(await use('stranger')).toBe('ErrImagePull');
  });
});

describe('an image that was on the node before the kubelet', () => {
  it.each([
    ['NeverVerifyPreloadedImages', 'used'],
    ['NeverVerify', 'used'],
    ['AlwaysVerify', 'ErrImagePull'],
    ['NeverVerifyAllowlistedImages', 'ErrImagePull'],
  ] as const)(
    'with policy %s, a pod without credentials that requests a preloaded image gets: %s',
    async (policy, expected) => {
      const { images, use, counts } = node({ policy, allowlist: ['public'] });
      images.set('app:1', 'sha256:app:1');
      images.set('public:1', 'sha256:public:1');
      expect(await use('stranger')).toBe(expected);
      expect(await use('stranger', 'public:1')).toBe('used');
      const result = expected === 'used' ? 'credentialPolicyAllowed' : 'mustAuthenticate';
      expect(counts.get(`kubelet_imagemanager_image_mustpull_checks_total ${result}`)).toBeGreaterThan(0);
    },
  );

  it('a preloaded image may be used after the same content was pulled under another name, but not under that other name', async () => {
    const { images, service, credentials, use, restart } = node();
    credentials.set('one', [tenant('a')]);
    const id = 'sha256:app:1';
    images.set('preloaded.example/web:1', id);
    const { imageStatus } = service;
    service.imageStatus = async (request) => {
      const { image, info } = await imageStatus(request);
      const repoTags = [...images].filter(([, other]) => other === image?.id).map(([name]) => name);
      return { image: image && { ...image, repoTags }, info };
    };
    expect(await use('stranger', 'preloaded.example/web:1', 'Never')).toBe('used');
    expect(await use('one')).toBe('used');
    expect(await use('stranger', 'preloaded.example/web:1', 'Never')).toBe('used');
    // The runtime lists the private image under each spelling of its name.
    images.set('docker.io/library/app:1', id);
    expect(await use('stranger', 'app:1', 'Never')).toBe('ErrImageNeverPull');
    expect(await use('stranger', 'docker.io/library/app:1', 'Never')).toBe('ErrImageNeverPull');
    restart();
    expect(await use('stranger', 'preloaded.example/web:1', 'Never')).toBe('used');
    expect(await use('stranger', 'app:1', 'Never')).toBe('ErrImageNeverPull');
  });

  it('K1: an image does not count as preloaded if a kubelet was killed during its pull', async () => {
    const { clock, fs, images, files, use, restart, state, credentials } = node();
    credentials.set('one', [tenant('a')]);
    state.duringPull = () => new Promise(() => {});
    void use('one');
    await clock.settle();
    expect(files(PULLING)).toHaveLength(1);
    images.set('app:1', 'sha256:app:1');
    restart();
    state.duringPull = async () => {};
    expect(await use('stranger')).toBe('ErrImagePull');
    // A failed pull records nothing, neither for this process nor for the next one.
    const records = restart();
    expect(await use('stranger')).toBe('ErrImagePull');
    const abort = new AbortController();
    const running = records.start(abort.signal);
    await clock.settle();
    // The record now says that the image was pulled, but not with which credentials.
    expect([files(PULLING), files(PULLED).length]).toEqual([[], 1]);
    const [record = ''] = files(PULLED);
    expect(JSON.parse(Buffer.from(await fs.readFile(record)).toString()).credentialMapping).toEqual({ app: {} });
    expect(await use('other stranger')).toBe('ErrImagePull');
    expect(await use('one')).toBe('used');
    abort.abort();
    await running;
  });
});

describe('requests for images', () => {
  it('image requests are counted by pull policy, presence of the image, and whether a pull was required', async () => {
    const { credentials, use, counts } = node();
    credentials.set('one', [tenant('a')]);
    await use('one', 'app:1', 'Always');
    await use('one');
    await use('stranger', 'app:1', 'Never');
    await use('one', 'gone:1', 'Never');
    await use('one', 'NO IMAGE');
    const name = 'kubelet_image_manager_ensure_image_requests_total ';
    const requests = [...counts].filter(([key]) => key.startsWith(name));
    expect(requests.map(([key, count]) => `${key.slice(name.length)}: ${count}`)).toEqual([
      'always unknown true: 1',
      'ifnotpresent true false: 1',
      'never true true: 1',
      'never false unknown: 1',
      'ifnotpresent unknown unknown: 1',
    ]);
  });
});

describe('pull records', () => {
  it('removes the pull intent after the pull, whether the pull succeeded or failed', async () => {
    const { credentials, files, use, counts, fs } = node();
    credentials.set('one', [tenant('a')]);
    await Promise.all([use('one'), use('stranger')]);
    expect(files(PULLING)).toEqual([]);
    expect(files(PULLED)).toHaveLength(1);
    const [record = ''] = files(PULLED);
    expect(await fs.stat(record)).toMatchObject({ mode: 0o600 });
    expect(await fs.stat(PULLED)).toMatchObject({ mode: 0o700 });
    expect(counts.get('kubelet_imagemanager_ondisk_pullintents')).toBe(0);
    expect(counts.get('kubelet_imagemanager_ondisk_pulledrecords')).toBe(1);
  });

  it("requires a pull if the image's record cannot be read, and replaces the record after the pull", async () => {
    const { credentials, fs, files, use, pulls } = node();
    credentials.set('one', [tenant('a')]);
    await use('one');
    const [record = ''] = files(PULLED);
    await fs.writeFile(record, '{"kind":"ImagePulledRecord","apiVersion":"kubelet.con');
    expect(await use('stranger')).toBe('ErrImagePull');
    expect(await use('one')).toBe('used');
    expect(pulls).toEqual(['app:1 tenant', 'app:1', 'app:1 tenant']);
    expect(await use('one')).toBe('used');
    expect(pulls).toHaveLength(3);
  });

  it('does not pull an image if the pull intent cannot be written, because the image would later count as preloaded', async () => {
    const { clock, fs, use, pulls } = node();
    const full = fs.injectFault({ code: 'ENOSPC', path: (path) => path.includes('image_manager'), times: 2 });
    expect(await use('one', 'public:1')).toBe('ErrImagePull');
    expect(pulls).toEqual([]);
    full.remove();
    await clock.advance(10_000);
    expect(await use('one', 'public:1')).toBe('used');
  });

  it('a prune removes records of deleted images, but not of images pulled during the prune', async () => {
    const { clock, images, files, use, restart } = node();
    for (const name of ['one:1', 'two:1']) await use('p', name);
    images.delete('one:1');
    const abort = new AbortController();
    const running = restart().start(abort.signal);
    await clock.advance(300_000);
    expect(files(PULLED)).toHaveLength(1);
    await use('p', 'three:1');
    images.delete('three:1');
    await clock.advance(300_000);
    expect(files(PULLED)).toHaveLength(1);
    abort.abort();
    await running;
  });

  it('a prune keeps the record of an image that is pulled again during the prune', async () => {
    const { clock, fs, images, files, use, restart } = node();
    for (const name of ['one:1', 'two:1']) await use('p', name);
    await clock.advance(1000);
    images.clear();
    const records = restart();
    const { remove } = fs;
    let removing = 0;
    fs.remove = async (path: string): Promise<void> => {
      // The other image is used again while the record of the first one is being removed.
      if (++removing === 1) {
        const gone = path;
        for (const name of ['one:1', 'two:1']) if (!gone.endsWith(hashOf(`sha256:${name}`))) await use('p', name);
      }
      await remove.call(fs, path);
    };
    await records.prune(new AbortController().signal);
    expect(images.size).toBe(1);
    expect(files(PULLED)).toHaveLength(1);
  });

  it('a prune removes records of deleted images even if one record cannot be removed', async () => {
    const { clock, fs, images, files, use, restart } = node();
    for (const name of ['one:1', 'two:1']) await use('p', name);
    await clock.advance(1000);
    images.clear();
    fs.injectFault({ code: 'EIO', operation: 'remove', times: 1 });
    await restart().prune(new AbortController().signal);
    expect(files(PULLED)).toHaveLength(1);
  });

  it('keeps the intent of a pull that starts while the intents of an earlier kubelet process are read', async () => {
    const { clock, fs, service, images, files, use, restart, state } = node();
    state.duringPull = () => new Promise(() => {});
    void use('one', 'public:1');
    await clock.settle();
    images.set('public:1', 'sha256:public:1');
    const records = restart();
    const { writeFileAtomic } = fs;
    let begun: Promise<void> | undefined;
    const abort = new AbortController();
    const listImages = service.listImages;
    service.listImages = async () => {
      const listed = await listImages();
      begun ??= records.intent('public:1');
      return listed;
    };
    let writing = 0;
    fs.writeFileAtomic = async (...args: Parameters<typeof writeFileAtomic>): Promise<void> => {
      // Writing the new intent takes longer than reading the existing records.
      if (args[0].startsWith(PULLING) && ++writing === 1) await clock.settle();
      await writeFileAtomic.apply(fs, args);
    };
    const running = records.start(abort.signal);
    await clock.settle();
    await begun;
    await clock.settle();
    expect(files(PULLING)).toHaveLength(1);
    abort.abort();
    await running;
  });

  it.runIf(process.platform === 'linux')(
    'W6: does not block on a FIFO that was put in the place of a pull record',
    async () => {
      const rootDirectory = await mkdtemp(join(tmpdir(), 'pull-records-'));
      const fifo = join(rootDirectory, 'image_manager', 'pulled', `sha256-${hashOf('sha256:app:1')}`);
      try {
        await mkdir(dirname(fifo), { recursive: true });
        execFileSync('mkfifo', [fifo]);
        const records = new ImagePullRecords({ fs: nodeFileSystem, images: node().service }, { rootDirectory });
        const late = new Promise((resolve) => setTimeout(resolve, 3000, 'late'));
        const outcome = await Promise.race([records.mustPull('app:1', 'sha256:app:1', async () => []), late]);
        if (outcome === 'late') execFileSync('sh', ['-c', 'echo > "$1"', 'sh', fifo]);
        expect(outcome).toBe(true);
      } finally {
        await rm(rootDirectory, { recursive: true });
      }
    },
  );

  it('removes the record of a deleted image as soon as the removal is reported, so that a later image with the same ID does not inherit it', async () => {
    const { clock, images, files, use, restart } = node();
    for (const name of ['one:1', 'two:1']) await use('p', name);
    await clock.advance(1000);
    images.delete('one:1');
    await restart().prune(new AbortController().signal);
    expect(files(PULLED)).toHaveLength(1);
  });
});
