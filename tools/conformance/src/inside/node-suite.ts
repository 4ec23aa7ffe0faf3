import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shebangFlags } from './node.ts';

/** Where the node suite finds what it starts and controls. */
export interface NodeSuitePlaces {
  /** First on PATH: stand-ins for what a machine with systemd has. */
  readonly path: string;
  /** Has the kubelet, by that name. */
  readonly programs: string;
  /** The configuration that the suite begins with, and makes its own of. */
  readonly configuration: string;
}

/** What the node suite starts its own kubelet with, and by what. */
export interface NodeSuiteOptions {
  readonly directory: string;
  readonly kubelet: string;
}

/** Lays out what e2e_node.test asks a machine for, in a directory. */
export async function prepareNodeSuite({ directory, kubelet }: NodeSuiteOptions): Promise<NodeSuitePlaces> {
  const places = { path: join(directory, 'path'), programs: join(directory, 'programs') };
  const units = join(directory, 'units');
  for (const path of [places.path, places.programs, units]) await mkdir(path, { recursive: true });
  const script = (path: string, command: readonly string[]): Promise<void> =>
    writeFile(path, `#!/bin/sh\nexec ${command.map(quoted).join(' ')} "$@"\n`, { mode: 0o755 });
  const standIn = [
    process.execPath,
    ...process.execArgv,
    fileURLToPath(new URL('../units/main.ts', import.meta.url)),
    units,
  ];
  await script(join(places.path, 'systemd-run'), [...standIn, 'run']);
  await script(join(places.path, 'systemctl'), [...standIn, 'control']);
  await script(join(places.path, 'sudo'), ['/usr/bin/env']);
  const flags = kubelet.endsWith('.js') ? [process.execPath, ...(await shebangFlags(kubelet))] : [];
  await script(join(places.programs, 'kubelet'), [...flags, kubelet]);
  const configuration = join(directory, 'base-kubelet.json');
  await writeFile(configuration, JSON.stringify(BASE_CONFIGURATION));
  return { ...places, configuration };
}

/** Upstream's base (`test/e2e_node/jenkins/default-kubelet-config.yaml`), but for cgroup v1 and swap, and pods' addresses, which are CNI's. */
const BASE_CONFIGURATION = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  cgroupDriver: 'cgroupfs',
  cgroupRoot: '/',
  failCgroupV1: false,
  failSwapOn: false,
  volumeStatsAggPeriod: '10s',
  fileCheckFrequency: '10s',
  evictionPressureTransitionPeriod: '30s',
  evictionHard: { 'memory.available': '250Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' },
  evictionMinimumReclaim: { 'nodefs.available': '5%', 'nodefs.inodesFree': '5%' },
  serializeImagePulls: false,
};

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
