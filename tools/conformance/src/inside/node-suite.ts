import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shebangFlags } from './node.ts';

/** Files and directories for the node suite. */
export interface NodeSuitePlaces {
  /** Directory with substitutes for `sudo` and systemd's programs, which is prepended to PATH. */
  readonly path: string;
  /** Directory with the program `kubelet`. */
  readonly programs: string;
  /** Path of the base kubelet configuration, from which the suite derives its own. */
  readonly configuration: string;
}

/** Options of {@link prepareNodeSuite}. */
export interface NodeSuiteOptions {
  readonly directory: string;
  readonly kubelet: string;
  /**
   * Whether systemd runs on the machine. If so, the suite uses it instead of substitutes, and the kubelet's cgroup
   * driver is systemd. Default: false.
   */
  readonly systemd?: boolean;
  /** Variables that are added to the kubelet's environment. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Writes the files that e2e_node.test expects on a machine to a directory. */
export async function prepareNodeSuite(options: NodeSuiteOptions): Promise<NodeSuitePlaces> {
  const { directory, kubelet, systemd = false, environment = {} } = options;
  const places = { path: join(directory, 'path'), programs: join(directory, 'programs') };
  const units = join(directory, 'units');
  for (const path of [places.path, places.programs, units]) await mkdir(path, { recursive: true });
  const script = (path: string, command: readonly string[]): Promise<void> =>
    writeFile(path, `#!/bin/sh\nexec ${command.map(quoted).join(' ')} "$@"\n`, { mode: 0o755 });
  if (!systemd) {
    const standIn = [
      process.execPath,
      ...process.execArgv,
      fileURLToPath(new URL('../units/main.ts', import.meta.url)),
      units,
    ];
    await script(join(places.path, 'systemd-run'), [...standIn, 'run']);
    await script(join(places.path, 'systemctl'), [...standIn, 'control']);
  }
  await script(join(places.path, 'sudo'), ['/usr/bin/env']);
  const flags = kubelet.endsWith('.js') ? [process.execPath, ...(await shebangFlags(kubelet))] : [];
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  await script(join(places.programs, 'kubelet'), ['/usr/bin/env', ...variables, ...flags, kubelet]);
  const configuration = join(directory, 'base-kubelet.json');
  await writeFile(
    configuration,
    JSON.stringify({ ...BASE_CONFIGURATION, ...(systemd && { cgroupDriver: 'systemd' }) }),
  );
  return { ...places, configuration };
}

/**
 * Upstream's base configuration (`test/e2e_node/jenkins/default-kubelet-config.yaml`), but it permits cgroup v1 and
 * swap and sets no pod CIDR, because CNI assigns the pods' addresses.
 */
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
