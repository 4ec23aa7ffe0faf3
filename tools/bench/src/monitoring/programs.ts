import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

const PROMETHEUS_VERSION = 'v0.316.0';
const METRICS_SERVER_VERSION = 'v0.9.0';

/** Names of the programs. */
export const ALL_PROGRAMS = ['prometheus', 'promtool', 'metrics-server'] as const;

type ProgramName = (typeof ALL_PROGRAMS)[number];

/** Paths of the programs. */
export type MonitoringPrograms<N extends ProgramName = ProgramName> = Readonly<Record<N, string>>;

/**
 * Go packages of the programs. Prometheus is built without service discovery, which would bring in hundreds of modules
 * of cloud providers.
 */
const MODULES = [
  {
    packages: ['prometheus', 'promtool'].map((name) => `github.com/prometheus/prometheus/cmd/${name}`),
    version: PROMETHEUS_VERSION,
    flags: '-mod=mod -tags=remove_all_sd',
  },
  {
    packages: ['sigs.k8s.io/metrics-server/cmd/metrics-server'],
    version: METRICS_SERVER_VERSION,
    flags: '-mod=mod',
  },
];

/**
 * Returns programs from the given directory, from PATH or from the cache. If they are missing, they are built from Go
 * modules once.
 * @throws Error with the reason if they cannot be provided
 */
export async function findMonitoringPrograms<N extends ProgramName>(
  names: readonly N[],
  directory: string | undefined,
  say: (text: string) => void,
): Promise<MonitoringPrograms<N>> {
  if (directory !== undefined) {
    const found = await allIn([directory], names);
    if (found === undefined) throw new Error(`${directory} must contain ${names.join(', ')}`);
    return found;
  }
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent');
  const built = join(cache, `monitoring-${PROMETHEUS_VERSION}-${METRICS_SERVER_VERSION}`);
  const found = (await allIn((process.env.PATH ?? '').split(delimiter), names)) ?? (await allIn([built], names));
  if (found !== undefined) return found;
  await mkdir(built, { recursive: true });
  say(`building ${names.join(', ')}; this takes some minutes, and the programs are then cached`);
  await build(built, names);
  const made = await allIn([built], names);
  if (made === undefined)
    throw new Error(`build monitoring programs: ${built} does not contain all of ${names.join(', ')}`);
  return made;
}

async function allIn<N extends ProgramName>(
  directories: readonly string[],
  names: readonly N[],
): Promise<MonitoringPrograms<N> | undefined> {
  const files: Partial<Record<N, string>> = {};
  for (const name of names) {
    for (const directory of directories) {
      const file = join(directory, name);
      const isThere =
        directory !== '' &&
        (await access(file)
          .then(() => true)
          .catch(() => false));
      if (isThere) files[name] ??= file;
    }
    if (files[name] === undefined) return undefined;
  }
  return files as MonitoringPrograms<N>;
}

/** Builds each module in its own directory, because the modules require different versions of shared dependencies. */
async function build(into: string, names: readonly ProgramName[]): Promise<void> {
  const PATH = `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`;
  for (const { packages, version, flags } of MODULES) {
    if (!packages.some((path) => names.some((name) => path.endsWith(`/${name}`)))) continue;
    const work = await mkdtemp(join(tmpdir(), 'na-monitoring-build-'));
    const go = async (...args: string[]): Promise<void> => {
      const env = { ...process.env, PATH, GOFLAGS: flags, CGO_ENABLED: '0' };
      await exec('go', args, { cwd: work, env, maxBuffer: 64 * 2 ** 20 }).catch(
        (error: Error & { stderr?: string }) => {
          const end = (error.stderr ?? error.message).trim().split('\n').slice(-3).join('; ');
          throw new Error(`${packages.join(', ')} ${version} : go ${args[0]} failed: ${end}`, { cause: error });
        },
      );
    };
    try {
      await go('mod', 'init', 'node-agent.local/monitoring');
      await go('get', ...packages.map((path) => `${path}@${version}`));
      await go('build', '-ldflags=-s -w', '-o', join(work, 'bin/'), ...packages);
      for (const path of packages) {
        const name = path.slice(path.lastIndexOf('/') + 1);
        await exec('cp', [join(work, 'bin', name), join(into, `${name}.${process.pid}`)]);
        await rename(join(into, `${name}.${process.pid}`), join(into, name));
      }
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
}
