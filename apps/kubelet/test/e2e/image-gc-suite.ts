import { execFile } from 'node:child_process';
import { access, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CheckpointStore } from '@node-agent/checkpoint';
import { CriClient } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { ImageGc, type ImageGcPolicy } from '@node-agent/image-gc';
import { buildImage, Containerd, type Found, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { script, TestNode } from './test-node.ts';

const exec = promisify(execFile);
const TIMEOUT_MS = 120_000;
const PACKAGE = new URL('../../../../packages/image-gc/', import.meta.url);
const FOREVER = 'trap "exit 0" TERM; while true; do sleep 1 & wait $!; done';
const [USED, UNUSED, PINNED] = ['used', 'unused', 'pinned'].map((name) => `node-agent.local/${name}:1`) as [
  string,
  string,
  string,
];

/**
 * Registers tests of image garbage collection on a real containerd. The collectors of the tests read the image ages
 * that a kubelet stored before it exited.
 */
export function imageGcSuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} keeps images in use`, (context) => context.skip(found.reason));
    return;
  }
  const { binaries } = found;
  describe(`images on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let cri: CriClient;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      containerd = new Containerd({ binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      cri = new CriClient({}, { endpoint: containerd.endpoint });
      for (const tag of [USED, UNUSED, PINNED]) {
        const file = join(directory, 'image.tar');
        await buildImage({ tag, file });
        await containerd.importImage(file, tag);
      }
      const socket = containerd.endpoint.slice('unix://'.length);
      const label = ['images', 'label', PINNED, 'io.cri-containerd.pinned=pinned'];
      await exec(binaries.ctr, ['--address', socket, '-n', 'k8s.io', ...label]);
      node = new TestNode({ directory, endpoint: containerd.endpoint });
      await node.until('the image to be pinned', async () => {
        const { image } = await cri.imageStatus({ image: { image: PINNED } });
        return image?.pinned === true ? true : undefined;
      });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await cri?.close();
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const present = async (): Promise<readonly string[]> => {
      const { images } = await cri.listImages({});
      return images.flatMap(({ repoTags }) => repoTags).sort();
    };
    const collector = (policy: Partial<ImageGcPolicy>): ImageGc => {
      const disks = {
        async statfs(path: string) {
          const { bsize, blocks, bavail } = await statfs(path);
          return { totalBytes: bsize * blocks, availableBytes: bsize * bavail };
        },
      };
      const ages = new CheckpointStore({ fs: nodeFileSystem }, { directory: join(node.rootDir, 'image_gc') });
      const told = { minAgeMs: 0, highThresholdPercent: 100, ...policy };
      return new ImageGc({ cri, disks, ages }, { policy: told });
    };

    test('N4: removes an image above the maximum age, also if another collector stored its age, but no used or pinned image', async () => {
      await node.write({ name: 'user', spec: { containers: [{ ...script('c', FOREVER), image: USED }] } });
      await node.running('user');
      await node.until('the ages of images', () =>
        access(join(node.rootDir, 'image_gc', 'image_gc_state')).then(() => true as const),
      );
      await node.kill('SIGTERM');
      const { signal } = new AbortController();
      const all = [PAUSE_IMAGE, PINNED, UNUSED, USED].sort();
      expect(await present()).toEqual(all);

      await collector({ maxAgeMs: 3_600_000 }).garbageCollect(signal);
      expect(await present()).toEqual(all);
      // Each run uses a new collector, which knows the age of images only from the file on disk.
      await node.until('the unused image to be gone', async () => {
        await collector({ maxAgeMs: 1 }).garbageCollect(signal);
        return (await present()).length < all.length ? true : undefined;
      });
      expect(await present()).toEqual([PAUSE_IMAGE, PINNED, USED].sort());
    });

    test('removes unused images above the high threshold, and reports that this did not free enough', async () => {
      const file = join(directory, 'image.tar');
      await buildImage({ tag: UNUSED, file });
      await containerd.importImage(file, UNUSED);
      // With thresholds of 0 percent, disk usage is always above the thresholds, and removing all images never
      // suffices.
      const collecting = collector({ highThresholdPercent: 0, lowThresholdPercent: 0 });
      await expect(collecting.garbageCollect(new AbortController().signal)).rejects.toMatchObject({
        code: 'InsufficientSpace',
        message: expect.stringMatching(/^Insufficient free disk space .* \(freed [1-9]\d* bytes\)/),
      });
      expect(await present()).toEqual([PAUSE_IMAGE, PINNED, USED].sort());
    });

    test('deleteUnusedImages removes an image after its pod was removed, but no pinned image', async () => {
      const { signal } = new AbortController();
      const gc = collector({});
      expect(await gc.deleteUnusedImages(signal)).toBe(0);
      for (const { id } of (await cri.listPodSandbox({})).items) {
        await cri.stopPodSandbox({ podSandboxId: id });
        // Terminated containers keep their image.
        expect(await gc.deleteUnusedImages(signal)).toBe(0);
        await cri.removePodSandbox({ podSandboxId: id });
      }
      expect(await gc.deleteUnusedImages(signal)).toBeGreaterThan(0);
      expect(await present()).toEqual([PAUSE_IMAGE, PINNED].sort());
    });

    test("the program in the package's README removes unused images without a kubelet", async () => {
      const file = join(directory, 'image.tar');
      await buildImage({ tag: UNUSED, file });
      await containerd.importImage(file, UNUSED);
      const readme = await readFile(new URL('README.md', PACKAGE), 'utf8');
      const program = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? '';
      // The file is in the package's directory, so that its imports resolve as the package's do.
      const path = fileURLToPath(new URL(`.readme-${process.pid}.ts`, PACKAGE));
      await writeFile(path, program);
      try {
        const { stdout } = await exec(process.execPath, ['--conditions=@node-agent/source', path, containerd.endpoint]);
        expect(stdout).toMatch(/^[1-9]\d* bytes of images are gone\n$/);
      } finally {
        await rm(path);
      }
      expect(await present()).toEqual([PAUSE_IMAGE, PINNED].sort());
    });
  });
}
