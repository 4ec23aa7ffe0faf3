import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, it } from 'vitest';
import { shareRootDirectory } from '../src/process/root-directory.ts';

const { signal } = new AbortController();
const PRIVATE = '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n';
const SHARED = '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n';
const MAY_MOUNT = 'Name:\tnode\nCapEff:\t000001ffffffffff\n';
const MAY_NOT = 'Name:\tnode\nCapEff:\t00000000a80425fb\n';

interface World {
  readonly mountinfo: string;
  readonly status: string;
  readonly fails?: Error;
}

async function share({ mountinfo, status, fails }: World): Promise<{ mounted: string[]; said: string[] }> {
  const { logger, lines } = captureLogger();
  const mounted: string[] = [];
  const fs = {
    realpath: async (path: string) => path.replace('/link', '/real'),
    readFile: async (path: string) => new TextEncoder().encode(path === '/proc/self/status' ? status : mountinfo),
  };
  const mounter = {
    async shareOnItself(directory: string): Promise<void> {
      if (fails !== undefined) throw fails;
      mounted.push(directory);
    },
  };
  await shareRootDirectory({ fs, mounter, logger }, '/link/kubelet', signal);
  return { mounted, said: lines.map(({ level, message }) => `${level}: ${message}`) };
}

it('bind-mounts the root directory on itself, by its real path, if its mount is not shared', async () => {
  expect(await share({ mountinfo: PRIVATE, status: MAY_MOUNT })).toEqual({
    mounted: ['/real/kubelet'],
    said: ['info: Bind-mounted with shared mount propagation'],
  });
  expect(await share({ mountinfo: SHARED, status: MAY_MOUNT })).toEqual({ mounted: [], said: [] });
});

it("sharing the root directory fails with the system's error if the process has CAP_SYS_ADMIN but the mount fails", async () => {
  const world = { mountinfo: PRIVATE, status: MAY_MOUNT, fails: new Error('mount -o rbind failed: no') };
  await expect(share(world)).rejects.toThrow('error configuring root directory: mount -o rbind failed: no');
  await expect(share({ mountinfo: '', status: MAY_MOUNT })).rejects.toThrow(
    'error configuring root directory: cannot find mount point for "/real/kubelet"',
  );
});

it('without CAP_SYS_ADMIN, the kubelet continues with one warning that its root directory is not shared', async () => {
  expect(await share({ mountinfo: PRIVATE, status: MAY_NOT, fails: new Error('must be superuser') })).toEqual({
    mounted: [],
    said: ['warn: Could not make the root directory a shared mount'],
  });
});
