import { MemoryFileSystem } from '@node-agent/host/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csiIdentity, csiUniqueName, metricPluginName } from '../src/csi/csi-names.ts';
import { csiAccessMode } from '../src/csi/csi-source.ts';
import { attachmentProblem } from '../src/csi/driver-rule.ts';
import {
  formatVolumeData,
  parseVolumeData,
  readVolumeData,
  type VolumeData,
  writeVolumeData,
} from '../src/csi/volume-data.ts';
import { VolumeError } from '../src/errors.ts';
import { mountRefs, mountsOfSame } from '../src/mount/mount-refs.ts';
import { errorOf } from './helpers.ts';

const PATH = '/d/vol_data.json';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

it.each([
  ['kubernetes.io/csi', 'a.example', undefined, 'kubernetes.io/csi:a.example'],
  ['kubernetes.io/csi', undefined, 'kubernetes.io/csi/b.example^h', 'kubernetes.io/csi:b.example'],
  ['kubernetes.io/csi', undefined, undefined, 'kubernetes.io/csi'],
  ['kubernetes.io/nfs', undefined, 'kubernetes.io/nfs/x', 'kubernetes.io/nfs'],
])(
  'metrics show the plugin %s of a volume with inline driver %s and unique name %s as %s',
  (plugin, driver, uniqueName, shown) => {
    expect(metricPluginName(plugin, driver, uniqueName)).toBe(shown);
  },
);

describe('names of CSI volumes', () => {
  it('the unique name of a CSI volume can be split into driver and volume ID, whatever the volume ID contains', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9.-]{1,63}$/), fc.string({ minLength: 1 }), (driver, handle) => {
        expect(csiIdentity(csiUniqueName({ driver, handle }))).toEqual({ driver, handle });
      }),
    );
  });

  it.each(['', 'kubernetes.io/csi/', 'kubernetes.io/csi/a', 'kubernetes.io/csi/^b', 'kubernetes.io/csi/a^', 'x/a^b'])(
    'the unique name %j of a CSI volume is refused',
    (name) => {
      expect(() => csiIdentity(name)).toThrow('must be the unique name of a CSI volume');
    },
  );

  it.each<[string | undefined, boolean, string]>([
    [undefined, false, 'SINGLE_NODE_WRITER'],
    [undefined, true, 'SINGLE_NODE_MULTI_WRITER'],
    ['ReadWriteOnce', false, 'SINGLE_NODE_WRITER'],
    ['ReadWriteOnce', true, 'SINGLE_NODE_MULTI_WRITER'],
    ['ReadWriteOncePod', false, 'SINGLE_NODE_WRITER'],
    ['ReadWriteOncePod', true, 'SINGLE_NODE_SINGLE_WRITER'],
    ['ReadOnlyMany', true, 'MULTI_NODE_READER_ONLY'],
    ['ReadWriteMany', false, 'MULTI_NODE_MULTI_WRITER'],
  ])(
    'for the access mode %s, and a driver with the capability SINGLE_NODE_MULTI_WRITER: %s, the CSI access mode is %s',
    (mode, can, expected) => {
      expect(csiAccessMode({ ...(mode && { accessModes: [mode, 'ReadOnlyMany'] }) }, can)).toBe(expected);
    },
  );

  it('an unknown access mode of a CSI volume is refused', () => {
    expect(() => csiAccessMode({ accessModes: ['Any'] }, true)).toThrow('access mode "Any" is not supported');
  });
});

describe('vol_data.json', () => {
  const data = fc.record(
    {
      driverName: fc.string({ minLength: 1, unit: 'binary' }),
      volumeHandle: fc.string({ minLength: 1, unit: 'binary' }),
      specVolID: fc.string({ minLength: 1, unit: 'binary' }),
      volumeLifecycleMode: fc.constantFrom('Persistent', 'Ephemeral'),
    },
    { requiredKeys: ['driverName', 'volumeHandle'] },
  );

  it('vol_data.json with any content can be read back', () => {
    fc.assert(
      fc.property(data, (written) => {
        expect(parseVolumeData(bytes(formatVolumeData(written)), PATH)).toEqual(written);
      }),
    );
  });

  it("vol_data.json has characters that are special in HTML written as by upstream's kubelet", () => {
    expect(formatVolumeData({ volumeHandle: '<&>\u2028', driverName: 'd' })).toBe(
      '{"driverName":"d","volumeHandle":"\\u003c\\u0026\\u003e\\u2028"}\n',
    );
  });

  it('V4: vol_data.json with any bytes is read, or refused with an error that names the file', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json().map(bytes)), (content) => {
        try {
          parseVolumeData(content, PATH);
        } catch (error) {
          expect(VolumeError.is(error) && error.message.startsWith(`${PATH}: `)).toBe(true);
        }
      }),
    );
  });

  it.each<[string, string]>([
    ['', 'must be JSON in UTF-8'],
    ['[]', 'must be a JSON object'],
    ['null', 'must be a JSON object'],
    ['{"driverName":1,"volumeHandle":"v"}', '"driverName" must be a string'],
    ['{"driverName":"d"}', 'volumeHandle must be set'],
    ['{"driverName":"","volumeHandle":"v"}', 'driverName must be set'],
  ])('vol_data.json with %j is refused: %s', (content, why) => {
    expect(() => parseVolumeData(bytes(content), PATH)).toThrow(`${PATH}: ${why}`);
  });

  it('vol_data.json is refused without waiting if it is not UTF-8, a FIFO or too large', async () => {
    const fs = new MemoryFileSystem();
    await fs.mkdir('/d');
    expect(await readVolumeData(fs, '/d')).toBeUndefined();
    await fs.writeFile(PATH, new Uint8Array([0x7b, 0xff, 0x7d]));
    expect((await errorOf(readVolumeData(fs, '/d'))).message).toContain('must be JSON in UTF-8');
    await fs.writeFile(PATH, new Uint8Array(65_537));
    expect((await errorOf(readVolumeData(fs, '/d'))).message).toContain('EFBIG');
    await fs.remove(PATH);
    fs.makeSpecial(PATH, 'fifo');
    expect((await errorOf(readVolumeData(fs, '/d'))).message).toContain('ENXIO');
  });

  it('V4: an unchanged vol_data.json is not written again, so that a crash cannot lose it', async () => {
    const fs = new MemoryFileSystem();
    await fs.mkdir('/d');
    const content: VolumeData = { driverName: 'd', volumeHandle: 'v' };
    await writeVolumeData(fs, '/d', content);
    const { inode } = await fs.stat(PATH);
    await writeVolumeData(fs, '/d', content);
    expect((await fs.stat(PATH)).inode).toBe(inode);
    await writeVolumeData(fs, '/d', { ...content, volumeHandle: 'w' });
    expect((await readVolumeData(fs, '/d'))?.volumeHandle).toBe('w');
  });
});

it.each<[object | undefined, string | undefined]>([
  [undefined, 'volume v has GET error for volume attachment csi-1: volumeattachments.storage.k8s.io "csi-1" not found'],
  [{ metadata: { deletionTimestamp: 'now' }, status: { attached: true } }, 'volume attachment is being deleted'],
  [{ metadata: {}, status: { attached: true } }, undefined],
  [{ metadata: {}, status: { attached: false, attachError: { message: 'no such disk' } } }, 'no such disk'],
  [{ metadata: {}, status: { attached: false } }, 'volume v is not attached for volume attachment csi-1'],
  [{ metadata: {} }, 'volume v is not attached for volume attachment csi-1'],
])('V5: a volume with the VolumeAttachment %j cannot be staged because: %s', (attachment, why) => {
  expect(attachmentProblem('v', 'csi-1', attachment as Parameters<typeof attachmentProblem>[2])).toBe(why);
});

describe('mounts of one file system', () => {
  const table = [
    '1 0 8:1 / / rw - ext4 /dev/sda rw',
    '2 1 8:16 / /k/plugins/kubernetes.io/csi/d/h/globalmount rw - ext4 /dev/sdb rw',
    '3 1 8:16 / /k/pods/u/volumes/kubernetes.io~csi/pv/mount rw - ext4 /dev/sdb rw',
    '4 1 8:16 /sub /other rw - ext4 /dev/sdb rw',
    '5 1 8:16 / /peer/plugins/kubernetes.io/csi/d/h/globalmount rw - ext4 /dev/sdb rw',
    '6 1 8:16 / /with\\040blank rw - ext4 /dev/sdb rw',
    'malformed',
  ].join('\n');

  it('V1: the mounts of one directory are listed, and none for a path without a mount', () => {
    expect(mountsOfSame(table, '/with blank')).toHaveLength(4);
    expect(mountsOfSame(table, '/other')).toEqual(['/other']);
    expect(mountsOfSame(table, '/k')).toEqual([]);
  });

  it("V1: the list of mounts omits the kubelet's own staging mount, also in another peer group", async () => {
    const fs = new MemoryFileSystem();
    await fs.mkdir('/k/plugins/kubernetes.io/csi/d/h');
    const mounter = { mountsOfSame: async (path: string) => mountsOfSame(table, path) };
    expect(await mountRefs({ fs, mounter }, '/k/plugins/kubernetes.io/csi/d/h/globalmount')).toEqual([
      '/k/pods/u/volumes/kubernetes.io~csi/pv/mount',
      '/with blank',
    ]);
  });
});
