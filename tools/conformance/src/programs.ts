import { access, constants, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type BuildTarget,
  bringCoreDns,
  buildTargets,
  coreDnsFile,
  downloadPrograms,
  fetchChecked,
  KUBERNETES_VERSION,
  type PublishedName,
  releaseModule,
} from '@node-agent/tools-control-plane';
import { run } from './run.ts';

type TargetName =
  | 'e2e.test'
  | 'e2e_node.test'
  | 'ginkgo'
  | 'kube-proxy'
  | 'agnhost'
  | 'nonewprivs'
  | 'sampledeviceplugin';

/** Programs of the Kubernetes release that the suites need in addition to the control plane. */
const TARGETS: Readonly<Record<TargetName, Omit<BuildTarget, 'name'>>> = {
  'e2e.test': { package: 'k8s.io/kubernetes/test/e2e', test: true },
  'e2e_node.test': { package: 'k8s.io/kubernetes/test/e2e_node', test: true },
  ginkgo: { package: 'github.com/onsi/ginkgo/v2/ginkgo' },
  'kube-proxy': { package: 'k8s.io/kubernetes/cmd/kube-proxy' },
  agnhost: { package: 'k8s.io/kubernetes/test/images/agnhost' },
  nonewprivs: { package: 'k8s.io/kubernetes/test/images/nonewprivs' },
  sampledeviceplugin: { package: 'k8s.io/kubernetes/test/images/sample-device-plugin' },
};

/** Programs that the Kubernetes release publishes as binaries; they are downloaded instead of built. */
const PUBLISHED = ['e2e.test', 'e2e_node.test', 'ginkgo', 'kube-proxy'] as const satisfies readonly (PublishedName &
  TargetName)[];

/** Paths of all required programs, and of the Kubernetes release's sources. */
export type Programs = Readonly<Record<TargetName | 'busybox' | 'coredns' | 'pause' | 'sources', string>>;

/**
 * Busybox version of upstream's images. Distribution packages differ in ways that specs detect: some shells drop
 * variables with unusual names, and some applets take precedence over PATH.
 */
const BUSYBOX = {
  version: '1.37.0',
  sha256: '3311dff32e746499f4df0d5df04d7eb396382d7e108bb9250e7b519b837043a4',
  urls: [
    'https://busybox.net/downloads/busybox-1.37.0.tar.bz2',
    'https://deb.debian.org/debian/pool/main/b/busybox/busybox_1.37.0.orig.tar.bz2',
  ],
};
const TIMEOUT_MS = 60_000;

/** Returns the cache paths of all programs. */
function placesInCache(): { readonly release: string; readonly files: Omit<Programs, 'sources'> } {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent');
  const release = join(cache, `kubernetes-${KUBERNETES_VERSION}`);
  const built = Object.fromEntries(Object.keys(TARGETS).map((name) => [name, join(release, name)]));
  const others = {
    busybox: join(cache, `busybox-${BUSYBOX.version}`),
    coredns: coreDnsFile(),
    pause: join(release, 'pause'),
  };
  return { release, files: { ...built, ...others } as Omit<Programs, 'sources'> };
}

/** Returns the programs that {@link findPrograms} would have to download or build. */
export async function missingPrograms(): Promise<readonly string[]> {
  const { files } = placesInCache();
  const missing: string[] = [];
  for (const [name, file] of Object.entries(files)) {
    if (!(await exists(file))) missing.push(name);
  }
  return missing;
}

/**
 * Returns all programs. Missing programs are downloaded or built into the cache, which takes about ten minutes on two
 * cores.
 * @throws Error that names the program that could not be provided
 */
export async function findPrograms(say: (text: string) => void): Promise<Programs> {
  const { release, files } = placesInCache();
  await mkdir(release, { recursive: true });
  const absent = await missingPrograms();
  const published = PUBLISHED.filter((name) => absent.includes(name));
  if (published.length > 0) {
    await downloadPrograms(published, release, say).catch((error: unknown) => {
      say(`${error instanceof Error ? error.message : String(error)}; building the missing programs instead`);
    });
  }
  const missing = await missingPrograms();
  const targets = Object.entries(TARGETS).flatMap(([name, target]) =>
    missing.includes(name) ? [{ name, ...target }] : [],
  );
  if (targets.length > 0) await buildTargets(targets, release, say);
  const { Dir: sources } = await releaseModule();
  if (missing.includes('pause')) await buildPause(sources, files.pause);
  if (missing.includes('busybox')) await buildBusybox(files.busybox, say);
  if (missing.includes('coredns')) await bringCoreDns(files.coredns, say);
  return { ...files, sources };
}

async function buildPause(sources: string, file: string): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await run('gcc', ['-Os', '-static', '-o', draft, join(sources, 'build/pause/linux/pause.c')]);
  await rename(draft, file);
}

async function buildBusybox(file: string, say: (text: string) => void): Promise<void> {
  say(`building busybox ${BUSYBOX.version}, which is then cached`);
  const work = `${file}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    await download(BUSYBOX.urls, BUSYBOX.sha256, join(work, 'busybox.tar.bz2'));
    await run('tar', ['-xjf', 'busybox.tar.bz2', '--strip-components=1'], { cwd: work });
    await run('make', ['defconfig'], { cwd: work });
    const config = await readFile(join(work, '.config'), 'utf8');
    await writeFile(join(work, '.config'), busyboxConfig(config));
    // Options that depend on the changed options get their defaults.
    await run('sh', ['-c', 'yes "" | make oldconfig'], { cwd: work });
    await run('make', ['-j2', 'busybox'], { cwd: work, nice: true });
    await rename(join(work, 'busybox'), file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Returns the configuration for a static busybox without `tc`, which does not compile with newer kernel headers. */
export function busyboxConfig(defaults: string): string {
  return defaults
    .replace('# CONFIG_STATIC is not set', 'CONFIG_STATIC=y')
    .replace(/^(CONFIG_TC)=y$/m, '# $1 is not set');
}

/** Downloads a file from the first URL that works and checks its SHA-256. @throws Error with the reason for each URL */
async function download(urls: readonly string[], sha256: string, file: string): Promise<void> {
  const problems: string[] = [];
  for (const url of urls) {
    try {
      return await fetchChecked(url, sha256, file, TIMEOUT_MS);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(problems.join('; '));
}

/** Checks that a kubelet is an executable file, or a readable file if it ends in `.js`. @throws Error if it is not */
export async function expectKubelet(path: string): Promise<void> {
  if (!(await stat(path)).isFile()) throw new Error(`${path} must be a file`);
  await access(path, path.endsWith('.js') ? constants.R_OK : constants.X_OK);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
