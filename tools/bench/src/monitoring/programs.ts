import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

const PROMETHEUS_VERSION = 'v0.316.0';
const METRICS_SERVER_VERSION = 'v0.9.0';

const NAMES = ['prometheus', 'promtool', 'metrics-server'] as const;

/** The file of each program. */
export type MonitoringPrograms = Readonly<Record<(typeof NAMES)[number], string>>;

/** What each is built of. Nothing is discovered here, and what discovers things in clouds brings hundreds of modules. */
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
 * Prometheus, promtool and metrics-server: from the directory given, from PATH, from the cache, or built as Go modules, once.
 * @throws Error saying why there are none
 */
export async function findMonitoringPrograms(
  directory: string | undefined,
  say: (text: string) => void,
): Promise<MonitoringPrograms> {
  if (directory !== undefined) {
    const found = await allIn([directory]);
    if (found === undefined) throw new Error(`${directory} has not all of ${NAMES.join(', ')}`);
    return found;
  }
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent');
  const built = join(cache, `monitoring-${PROMETHEUS_VERSION}-${METRICS_SERVER_VERSION}`);
  const found = (await allIn((process.env.PATH ?? '').split(delimiter))) ?? (await allIn([built]));
  if (found !== undefined) return found;
  await mkdir(built, { recursive: true });
  await build(built, say);
  const made = await allIn([built]);
  if (made === undefined) throw new Error(`${built} has not all of ${NAMES.join(', ')} though they were built`);
  return made;
}

async function allIn(directories: readonly string[]): Promise<MonitoringPrograms | undefined> {
  const files: Partial<Record<(typeof NAMES)[number], string>> = {};
  for (const name of NAMES) {
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
  return files as MonitoringPrograms;
}

/** Each module in a directory of its own, as they want different versions of what they share. */
async function build(into: string, say: (text: string) => void): Promise<void> {
  say(`building ${NAMES.join(', ')}, once; this takes some minutes`);
  const PATH = `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`;
  for (const { packages, version, flags } of MODULES) {
    const work = await mkdtemp(join(tmpdir(), 'na-monitoring-build-'));
    const go = async (...args: string[]): Promise<void> => {
      const env = { ...process.env, PATH, GOFLAGS: flags, CGO_ENABLED: '0' };
      await exec('go', args, { cwd: work, env, maxBuffer: 64 * 2 ** 20 }).catch(
        (error: Error & { stderr?: string }) => {
          const end = (error.stderr ?? error.message).trim().split('\n').slice(-3).join('; ');
          throw new Error(`${packages.join(', ')} ${version} cannot be built: go ${args[0]}: ${end}`, { cause: error });
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
