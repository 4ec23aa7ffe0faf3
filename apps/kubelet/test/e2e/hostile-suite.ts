import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildImage, Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { type Manifest, script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 300_000;
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const FILES = 50_000;
/**
 * Limit of the kubelet's memory. Reading or listing even the smallest of the hostile files as a whole would take ten
 * times as much.
 */
const MEMORY_BYTES = 150 * 2 ** 20;

const scratch = {
  volumes: [{ name: 'e', emptyDir: {} }],
};
const volumeMounts = [{ name: 'e', mountPath: '/e' }];
/**
 * Returns a container that runs a harmful script in its first run and then is restarted, so that the kubelet sets it up
 * after the harm.
 */
const inFirstLife = (harm: string): object =>
  script('c', `[ -e /e/second ] && { ${FOREVER}; }; touch /e/second; ${harm}; exit 1`, { volumeMounts });

/** Pods that put harmful content into their files, by name. */
const HOSTILE: readonly Manifest[] = [
  {
    name: 'names',
    spec: {
      ...scratch,
      containers: [
        script(
          'c',
          `cd /e; n=$(printf 'caf\\351\\377'); mkdir "$n" "$n/$n"; : > "$n/$n/$n"; ln -s "$n" "l$n"; mkfifo "f$n"; : > ready; ${FOREVER}`,
          { volumeMounts },
        ),
      ],
    },
  },
  {
    name: 'many',
    spec: {
      ...scratch,
      containers: [
        script('c', `i=0; while [ $i -lt ${FILES} ]; do : > /e/$i; i=$((i+1)); done; : > /e/ready; ${FOREVER}`, {
          volumeMounts,
        }),
      ],
    },
  },
  {
    name: 'deep',
    spec: {
      ...scratch,
      containers: [
        script('c', `cd /e; : > ready; i=0; while [ $i -lt 1500 ]; do mkdir d && cd d; i=$((i+1)); done; ${FOREVER}`, {
          volumeMounts,
        }),
      ],
    },
  },
  { name: 'hosts', spec: { ...scratch, containers: [inFirstLife('truncate -s 1500M /etc/hosts')] } },
  {
    name: 'message',
    spec: {
      ...scratch,
      containers: [inFirstLife("truncate -s 1500M /dev/termination-log; printf 'last words' >> /dev/termination-log")],
    },
  },
  {
    name: 'babbler',
    spec: {
      ...scratch,
      containers: [
        {
          ...inFirstLife("head -c 2000000 /dev/urandom; head -c 20000000 /dev/zero | tr '\\0' y"),
          terminationMessagePolicy: 'FallbackToLogsOnError',
        },
      ],
    },
  },
];

/**
 * Names and scripts of init containers that make a `fileKeyRef` source unacceptable: not a regular file, a symlink, or
 * too large.
 */
const REFUSED: readonly (readonly [name: string, make: string])[] = [
  ['fifo', 'mkfifo /e/env'],
  ['device', 'mknod /e/env c 1 5'],
  ['link', 'ln -s ../../../../../../../../../etc/passwd /e/env'],
  ['huge', 'truncate -s 1500M /e/env'],
];

function refused([name, make]: (typeof REFUSED)[number]): Manifest {
  const fileKeyRef = { volumeName: 'e', path: 'env', key: 'A' };
  return {
    name,
    spec: {
      ...scratch,
      initContainers: [script('i', make, { volumeMounts })],
      containers: [script('c', FOREVER, { env: [{ name: 'A', valueFrom: { fileKeyRef } }] })],
    },
  };
}

/** Image with an invalid stop signal: the runtime creates its containers but cannot stop them with that signal. */
const UNSTOPPABLE = 'node-agent.local/unstoppable:1';

/**
 * Registers tests of hostile pods on a real containerd: the pods terminate, leave nothing behind, and do not affect
 * other pods (W5).
 */
export function hostileSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} runs hostile pods`, (context) => context.skip(found.reason));
    return;
  }
  describe(`hostile pods on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let node: TestNode;

    beforeAll(async () => {
      // The path is short, because the directory contains Unix sockets, whose paths have a maximum length.
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      const file = join(directory, 'unstoppable.tar');
      await buildImage({ tag: UNSTOPPABLE, stopSignal: 'SIGNONE', file });
      await containerd.importImage(file, UNSTOPPABLE);
      node = new TestNode({ directory, endpoint: containerd.endpoint, flags: ['--feature-gates=EnvFiles=true'] });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const benign = async (name: string): Promise<void> => {
      await node.write({ name, spec: { containers: [script('c', FOREVER)] } });
      await node.running(name);
    };
    const volumeOf = (uid: string): string => join(node.rootDir, 'pods', uid, 'volumes/kubernetes.io~empty-dir/e');
    const exists = (path: string): Promise<boolean> =>
      access(path).then(
        () => true,
        () => false,
      );

    test('W5: pods with harmful content in their files terminate and leave nothing behind, and other pods start at the same time', async () => {
      await benign('first');
      const before = await node.peakRssBytes();
      await Promise.all([...HOSTILE, ...REFUSED.map(refused)].map((manifest) => node.write(manifest)));
      await benign('meanwhile');

      for (const [name] of REFUSED) {
        const pod = await node.podUntil(
          name,
          ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
        );
        expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toContain("couldn't parse env file: env ");
      }
      for (const name of ['hosts', 'message', 'babbler']) {
        const again = await node.podUntil(name, ({ status }) => {
          const container = status?.containerStatuses?.[0];
          return container?.restartCount === 1 && container.state?.running !== undefined;
        });
        const message = again.status?.containerStatuses?.[0]?.lastState?.terminated?.message ?? '';
        expect(Buffer.byteLength(message)).toBeLessThanOrEqual(3 * 4096);
        if (name === 'message') expect(message.endsWith('last words')).toBe(true);
      }
      for (const name of ['names', 'many', 'deep']) {
        const { uid } = (await node.running(name)).metadata;
        const isReady = async () => ((await exists(join(volumeOf(uid), 'ready'))) ? true : undefined);
        await node.until(`the files of ${name}`, isReady, TIMEOUT_MS);
      }

      const all = [...HOSTILE.map(({ name }) => name), ...REFUSED.map(([name]) => name)];
      await Promise.all(all.map((name) => rm(join(node.manifests, `${name}.json`))));
      await benign('afterwards');
      const kept = await Promise.all(['first', 'meanwhile', 'afterwards'].map((name) => node.running(name)));
      await node.until(
        'their directories to be gone',
        async () => ((await readdir(join(node.rootDir, 'pods'))).length === kept.length ? true : undefined),
        TIMEOUT_MS,
      );
      expect((await readdir(join(node.rootDir, 'pods'))).sort()).toEqual(
        kept.map(({ metadata }) => metadata.uid).sort(),
      );
      expect((await node.peakRssBytes()) - before).toBeLessThan(MEMORY_BYTES);
      expect((await node.health())?.ok).toBe(true);
      for (const name of ['first', 'meanwhile', 'afterwards']) await node.remove(name);
    });

    test('C5: stops a pod whose image has an invalid stop signal', async () => {
      const container = { ...script('c', FOREVER), image: UNSTOPPABLE };
      await node.write({ name: 'unstoppable', spec: { terminationGracePeriodSeconds: 1, containers: [container] } });
      const { uid } = (await node.running('unstoppable')).metadata;
      await node.remove('unstoppable');
      const isGone = async () => ((await exists(join(node.rootDir, 'pods', uid))) ? undefined : true);
      await node.until('its directory to be gone', isGone, TIMEOUT_MS);
    });
  });
}
