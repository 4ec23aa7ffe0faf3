// From packages/image-gc/README.md, which explains the program.
import { statfs } from 'node:fs/promises';
import { CriClient } from '@node-agent/cri-client';
import { ImageGc } from '@node-agent/image-gc';

await using cri = new CriClient({}, { endpoint: process.argv[2] ?? 'unix:///none', waitForRuntime: 'never' });
const disks = {
  async statfs(path: string) {
    const { bsize, blocks, bavail } = await statfs(path);
    return { totalBytes: bsize * blocks, availableBytes: bsize * bavail };
  },
};
const gc = new ImageGc({ cri, disks }, { policy: { minAgeMs: 0 } });
const signal = AbortSignal.timeout(60_000);
// All that nobody uses; `gc.garbageCollect(signal)` does so where the disk is too full.
console.log(await gc.deleteUnusedImages(signal).then((bytes) => `${bytes} bytes of images are gone`, String));
