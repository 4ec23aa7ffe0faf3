import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { readEnvironmentFiles } from '../src/reconcile/env-files.ts';
import { makeContainer, makePod } from './config/fixtures.ts';

const VOLUME = '/pods/uid-1/volumes/kubernetes.io~empty-dir/v';
let fs: MemoryFileSystem;

beforeEach(async () => {
  fs = new MemoryFileSystem({ clock: new FakeClock() });
  await fs.mkdir(`${VOLUME}/sub`);
  await fs.mkdir('/etc');
  await fs.writeFile('/etc/shadow', "ROOT='x'");
  await fs.writeFile(`${VOLUME}/sub/env`, "A='a'");
});

async function read(path: string, volumeName = 'v'): Promise<string> {
  const container = makeContainer({ env: [{ name: 'V', valueFrom: { fileKeyRef: { key: 'A', path, volumeName } } }] });
  const volumePath = (_pod: unknown, name: string): string | undefined => (name === 'v' ? VOLUME : undefined);
  return (await readEnvironmentFiles(makePod(), container, { fs, volumePath }))(volumeName, path);
}

describe('readEnvironmentFiles', () => {
  it('reads an environment file of a volume through symbolic links inside the volume', async () => {
    await fs.symlink('sub/env', `${VOLUME}/relative`);
    await fs.symlink('/sub/env', `${VOLUME}/absolute`);
    for (const path of ['sub/env', './sub//env', 'relative', 'absolute']) expect(await read(path)).toBe("A='a'");
  });

  it('W5: opens no FIFO, socket or device as environment file', async () => {
    for (const kind of ['fifo', 'socket', 'charDevice'] as const) {
      fs.makeSpecial(`${VOLUME}/${kind}`, kind);
      await fs.symlink(kind, `${VOLUME}/to-${kind}`);
      for (const path of [kind, `to-${kind}`]) {
        await expect(read(path)).rejects.toThrow(`couldn't parse env file: ${path} is not a regular file`);
      }
    }
  });

  it('W3: an environment file may not be a link out of the volume', async () => {
    await fs.symlink('/etc/shadow', `${VOLUME}/absolute`);
    await fs.symlink('../../../../../../../etc/shadow', `${VOLUME}/relative`);
    await fs.symlink('../../../../../../../etc', `${VOLUME}/directory`);
    for (const path of ['absolute', 'relative', 'directory/shadow', '../../../../../etc/shadow']) {
      await expect(read(path)).rejects.toMatchObject({
        code: 'InvalidSpec',
        message: `couldn't parse env file: ${path} does not exist`,
      });
    }
  });

  it('rejects environment files that are no files, too large, link loops or in missing volumes', async () => {
    await fs.symlink('loop', `${VOLUME}/loop`);
    await fs.writeFile(`${VOLUME}/huge`, new Uint8Array((1 << 20) + 1));
    await expect(read('sub')).rejects.toThrow("couldn't parse env file: sub is not a regular file");
    await expect(read('loop')).rejects.toThrow('loop has too many links');
    await expect(read('huge')).rejects.toThrow('huge has more than 1048576 bytes');
    await expect(read('x', 'w')).rejects.toThrow('cannot find the volume "w" referenced by FileKeyRef');
  });

  it('W5: reads each environment file once, up to the total size limit', async () => {
    await fs.writeFile(`${VOLUME}/large`, new Uint8Array(1 << 20));
    const paths = Array.from({ length: 17 }, (_, index) => `to-large-${index}`);
    for (const path of paths) await fs.symlink('large', `${VOLUME}/${path}`);
    const opened: string[] = [];
    const counted: Pick<MemoryFileSystem, 'openBeneath'> = {
      openBeneath: (directory, path, options) => {
        opened.push(path);
        return fs.openBeneath(directory, path, options);
      },
    };
    const readAll = (some: readonly string[]) => {
      const env = some.map((path) => ({ name: 'V', valueFrom: { fileKeyRef: { key: 'A', path, volumeName: 'v' } } }));
      return readEnvironmentFiles(makePod(), makeContainer({ env }), { fs: counted, volumePath: () => VOLUME });
    };
    const first16 = paths.slice(1);
    await readAll([...first16, ...first16]);
    expect(opened).toEqual(first16);
    await expect(readAll(paths)).rejects.toMatchObject({
      code: 'InvalidSpec',
      message: "couldn't parse env files: they have more than 16777216 bytes together",
    });
  });
});
