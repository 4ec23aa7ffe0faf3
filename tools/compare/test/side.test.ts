import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeSide } from '@node-agent/tools-bench';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import { afterEach, expect, test, vi } from 'vitest';
import { Side, type SideOptions } from '../src/side.ts';

let directory: string | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

test.each(['nodeKubeconfig', 'mkdir', 'the kubelet'])(
  'Side.start stops the runtime if the start fails in %s',
  async (what) => {
    directory = await mkdtemp(join(tmpdir(), 'compare-side-'));
    let stops = 0;
    const runtime = { endpoint: 'unix:///absent.sock', cgroupRoot: '/absent', stop: async () => void stops++ };
    vi.spyOn(RuntimeSide, 'start').mockResolvedValue(runtime as unknown as RuntimeSide);
    const controlPlane = {
      async nodeKubeconfig(): Promise<string> {
        if (what === 'nodeKubeconfig') throw new Error('no certificate');
        return join(directory ?? '', 'kubeconfig');
      },
      json: () => Promise.reject(new Error('no API server')),
    } as unknown as ControlPlane;
    const options: SideOptions = {
      ...{ name: 'a', program: '/bin/true', subnet: '10.0.0.0/24', controlPlane },
      binaries: {} as SideOptions['binaries'],
      directory: what === 'mkdir' ? join(directory, 'none') : directory,
    };
    const expected = { nodeKubeconfig: 'no certificate', mkdir: 'ENOENT', 'the kubelet': 'no API server' }[what];
    await expect(Side.start(options, new AbortController().signal)).rejects.toThrow(expected);
    expect(stops).toBeGreaterThan(0);
  },
);
