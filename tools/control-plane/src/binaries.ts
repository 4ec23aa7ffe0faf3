import { access, mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { buildPrograms } from './build.ts';
import { cacheDirectory } from './cache.ts';
import { bringCoreDns, coreDnsFile } from './coredns.ts';
import { downloadPrograms } from './download.ts';
import { attempt } from './run.ts';
import { KUBERNETES_VERSION } from './versions.ts';

/** Programs of a control plane, and its client. */
const CONTROL_PLANE_PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
] as const;

/** Name of a program that can be found. */
export type ProgramName = (typeof CONTROL_PLANE_PROGRAMS)[number] | 'kubelet' | 'kube-proxy';

/** Paths of the control plane's programs. */
export type ControlPlaneBinaries = Readonly<Record<(typeof CONTROL_PLANE_PROGRAMS)[number], string>>;

/** Paths of the programs of a whole cluster, except those of its nodes. */
export type ClusterBinaries = ControlPlaneBinaries & Readonly<Record<'kube-proxy' | 'coredns', string>>;

/** The found programs, or the reason why there are none. */
export type Found<T> = { readonly binaries: T } | { readonly reason: string };

export interface FindOptions {
  /** Receives progress messages. */
  readonly say: (text: string) => void;
  /** Directory with all programs. If present, no other place is searched. */
  readonly directory?: string;
  /** Whether programs are only looked for, and never downloaded or built. Default: false. */
  readonly onlyPresent?: boolean;
}

/** Finds the control plane's programs in the given directory, in PATH or in the cache, or downloads or builds them. */
export async function findControlPlane(options: FindOptions): Promise<Found<ControlPlaneBinaries>> {
  return find(CONTROL_PLANE_PROGRAMS, options);
}

/**
 * Finds the programs of a whole cluster: those of the control plane, kube-proxy, and CoreDNS, like
 * {@link findControlPlane}.
 */
export async function findCluster(options: FindOptions): Promise<Found<ClusterBinaries>> {
  const found = await find([...CONTROL_PLANE_PROGRAMS, 'kube-proxy'] as const, options);
  if ('reason' in found) return found;
  const { directory, say } = options;
  const coredns = directory === undefined ? coreDnsFile() : join(directory, 'coredns');
  try {
    if (!(await exists(coredns))) {
      if (directory !== undefined) return { reason: `${directory} has no coredns` };
      await bringCoreDns(coredns, say);
    }
    return { binaries: { ...found.binaries, coredns } };
  } catch (error) {
    return { reason: `missing coredns: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Returns the programs that {@link findCluster} would have to download or build into the cache. */
export async function missingClusterPrograms(): Promise<readonly string[]> {
  const binDir = releaseDirectory();
  const missing = await missingIn(binDir, [...CONTROL_PLANE_PROGRAMS, 'kube-proxy'] as const);
  return (await exists(coreDnsFile())) ? missing : [...missing, 'coredns'];
}

/** Finds the release's own kubelet for comparisons, like {@link findControlPlane}. */
export async function findUpstreamKubelet(options: FindOptions): Promise<Found<{ readonly kubelet: string }>> {
  return find(['kubelet'] as const, options);
}

async function find<Name extends ProgramName>(
  names: readonly Name[],
  { say, directory, onlyPresent = false }: FindOptions,
): Promise<Found<Readonly<Record<Name, string>>>> {
  if (process.platform !== 'linux') return { reason: 'a control plane requires Linux' };
  if (directory !== undefined) {
    const missing = await missingIn(directory, names);
    if (missing.length > 0) return { reason: `${directory} has no ${missing.join(', ')}` };
    return { binaries: inDirectory(directory, names) };
  }
  const installed = await inPath(names);
  if (installed !== undefined) return { binaries: installed };
  const binDir = releaseDirectory();
  const problems: string[] = [];
  for (const bring of onlyPresent ? [] : [downloadPrograms, buildPrograms]) {
    const missing = await missingIn(binDir, names);
    if (missing.length === 0) break;
    await mkdir(binDir, { recursive: true });
    await bring(missing, binDir, say).catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
    });
  }
  const missing = await missingIn(binDir, names);
  if (missing.length > 0) {
    const why = onlyPresent ? `neither in PATH nor in ${binDir}` : problems.join('; ');
    return { reason: `missing ${missing.join(', ')}: ${why}` };
  }
  return { binaries: inDirectory(binDir, names) };
}

function releaseDirectory(): string {
  return join(cacheDirectory(), `kubernetes-${KUBERNETES_VERSION}`);
}

/**
 * Finds all programs in PATH. Programs of another minor release are not used, because a test with them would not test
 * this release.
 */
async function inPath<Name extends ProgramName>(
  names: readonly Name[],
): Promise<Readonly<Record<Name, string>> | undefined> {
  const files: [Name, string][] = [];
  for (const name of names) {
    const file = await which(name);
    if (file === undefined) return undefined;
    if (name !== 'etcd' && name !== 'kubectl' && !(await isOfThisRelease(file))) return undefined;
    files.push([name, file]);
  }
  return Object.fromEntries(files) as Record<Name, string>;
}

async function isOfThisRelease(file: string): Promise<boolean> {
  const { stdout } = await attempt(file, ['--version']);
  const minor = KUBERNETES_VERSION.split('.').slice(0, 2).join('.');
  return stdout.startsWith(`Kubernetes v${minor}.`);
}

function inDirectory<Name extends ProgramName>(
  directory: string,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, join(directory, name)])) as Record<Name, string>;
}

async function missingIn<Name extends ProgramName>(directory: string, names: readonly Name[]): Promise<Name[]> {
  const there = await Promise.all(names.map((name) => exists(join(directory, name))));
  return names.filter((_, index) => there[index] === false);
}

async function which(name: string): Promise<string | undefined> {
  for (const directory of `${process.env.PATH ?? ''}${delimiter}/usr/local/bin`.split(delimiter)) {
    const file = join(directory, name);
    if (directory !== '' && (await exists(file))) return file;
  }
  return undefined;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
