import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CriClient } from '@node-agent/cri-client';
import { nodeFileSystem } from '@node-agent/host';
import { buildImage, Containerd, type Found, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { afterAll, test } from 'vitest';
import { examine } from '../compliance.ts';

const REMOVABLE = 'node-agent.local/removable:1';

/** Runs the suite on a private containerd, or says why it cannot. */
export async function examineContainerd(name: string, found: Found, subnet: string): Promise<void> {
  if ('reason' in found) {
    test(`${name} complies`, (context) => context.skip(found.reason));
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'na-'));
  const containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
  await containerd.start();
  const client = new CriClient({}, { endpoint: containerd.endpoint });
  afterAll(async () => {
    await client.close();
    await containerd.stop();
    await rm(directory, { recursive: true });
  }, 120_000);
  const archive = join(directory, 'removable.tar');
  await buildImage({ tag: REMOVABLE, file: archive });
  await containerd.importImage(archive, REMOVABLE);
  const workDir = join(directory, 'work');
  await mkdir(workDir);
  examine(
    `containerd-${found.binaries.version.replaceAll('.', '-')}`,
    {
      connect: async () => client,
      image: PAUSE_IMAGE,
      removableImage: REMOVABLE,
      workDir,
      fs: nodeFileSystem,
      wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
      now: () => Date.now(),
      cgroupParent: containerd.cgroupParent,
    },
    true,
  );
}
