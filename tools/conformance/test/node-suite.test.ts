import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prepareNodeSuite } from '../src/inside/node-suite.ts';

test.each([
  [false, ['sudo', 'systemctl', 'systemd-run'], 'cgroupfs'],
  [true, ['sudo'], 'systemd'],
])(
  'with systemd: %s, e2e_node.test finds the programs %j and the kubelet uses the cgroup driver %s',
  async (systemd, programs, driver) => {
    const directory = await mkdtemp(join(tmpdir(), 'na-node-suite-'));
    try {
      const environment = { NODE_COMPILE_CACHE: '/tmp/compiled code' };
      const places = await prepareNodeSuite({ directory, kubelet: '/bin/kubelet', systemd, environment });
      expect((await readdir(places.path)).toSorted()).toEqual(programs);
      expect(JSON.parse(await readFile(places.configuration, 'utf8')).cgroupDriver).toBe(driver);
      const kubelet = await readFile(join(places.programs, 'kubelet'), 'utf8');
      expect(kubelet).toContain("'/usr/bin/env' 'NODE_COMPILE_CACHE=/tmp/compiled code' '/bin/kubelet' \"$@\"");
    } finally {
      await rm(directory, { recursive: true });
    }
  },
);
