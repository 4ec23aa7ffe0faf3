import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findPrograms, makeImages, writeArchive } from '@node-agent/tools-conformance/images';
import { findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import { findUpstreamKubelet } from '@node-agent/tools-control-plane';
import {
  buildSingleFiles,
  debianPackage,
  debianVersion,
  nodeAgentPackage,
  readSource,
} from '@node-agent/tools-packaging';
import { run } from './command.ts';
import { HOST_SHARE } from './guest.ts';

export type SuiteName =
  | 'groups'
  | 'pressure'
  | 'kubelet'
  | 'shutdown'
  | 'package'
  | 'compare'
  | 'numa'
  | 'volumes'
  | 'e2e-node';

type Taken = 'kubelet' | 'runtime' | 'upstream' | 'packages' | 'specs';

/** Suites that run in the machine, with the programs of the host that they need. */
export const SUITES: Readonly<Record<SuiteName, readonly Taken[]>> = {
  groups: [],
  pressure: [],
  kubelet: ['kubelet', 'runtime'],
  shutdown: ['kubelet', 'runtime'],
  package: ['packages'],
  compare: ['kubelet', 'runtime', 'upstream'],
  numa: ['kubelet', 'runtime', 'upstream'],
  volumes: ['kubelet', 'runtime'],
  'e2e-node': ['kubelet', 'runtime', 'upstream', 'specs'],
};

/** File of the share with the choice of specs for the suite `e2e-node`. */
export const SPECS = 'e2e-node.json';

const directory = join(import.meta.dirname, '..');

/**
 * Copies the files that suites need to a directory that the machine sees.
 * @throws Error that names what is missing
 */
export async function fillShare(
  share: string,
  names: readonly SuiteName[],
  say: (text: string) => void,
): Promise<void> {
  const takes = new Set(names.flatMap((name) => SUITES[name]));
  await run('tsup', [], { cwd: directory });
  await mkdir(join(share, 'bin'), { recursive: true });
  await writeFile(join(share, 'package.json'), '{ "type": "module" }\n');
  await copyFile(process.execPath, join(share, 'bin/node'));
  for (const name of names) await copyFile(join(directory, '.run/suite', `${name}.js`), join(share, `${name}.js`));
  if (takes.has('kubelet')) {
    await rm(join(share, 'kubelet'), { recursive: true, force: true });
    await run('cp', ['-r', join(directory, '.run/kubelet'), join(share, 'kubelet')]);
    // The kubelet reads its own version from this file.
    await writeFile(
      join(share, 'kubelet/package.json'),
      await readFile(join(directory, '../../apps/kubelet/package.json')),
    );
  }
  if (takes.has('runtime')) {
    const found = await findOrBuildContainerd24(say);
    if ('reason' in found) throw new Error(found.reason);
    const { containerd, ctr, runc } = found.binaries;
    const shim = join(dirname(containerd), 'containerd-shim-runc-v2');
    for (const file of [containerd, shim, ctr, runc]) await run('cp', [file, join(share, 'bin/')]);
  }
  if (takes.has('upstream')) {
    const found = await findUpstreamKubelet({ say });
    if ('reason' in found) throw new Error(found.reason);
    await run('cp', [found.binaries.kubelet, join(share, 'bin/')]);
  }
  if (takes.has('specs')) await writeSpecs(share, say);
  if (takes.has('packages')) await writePackages(share);
}

/** Images of the specs that the suite `e2e-node` runs. */
const IMAGES = [
  'registry.k8s.io/e2e-test-images/busybox:1.37.0-1',
  'registry.k8s.io/e2e-test-images/sample-device-plugin:1.7',
];

/** Writes upstream's suite for nodes, and the images of its specs as the archive `images.tar`. */
async function writeSpecs(share: string, say: (text: string) => void): Promise<void> {
  const programs = await findPrograms(say);
  for (const name of ['e2e_node.test', 'ginkgo'] as const) await run('cp', [programs[name], join(share, 'bin/')]);
  const { sources } = programs;
  const { images, unknown } = await makeImages(IMAGES, { programs, sources, architecture: 'amd64' });
  if (unknown.length > 0) throw new Error(`build images: no recipe for ${unknown.join(', ')}`);
  await writeArchive(images, join(share, 'images.tar'));
}

/** Writes the Debian package as `old.deb`, and the same content with a later version as `new.deb`. */
async function writePackages(share: string): Promise<void> {
  const source = readSource(process.env);
  const [file] = await buildSingleFiles(source, ['amd64']);
  if (file === undefined) throw new Error('build single file: no file was built');
  for (const [name, later] of [
    ['old.deb', 0],
    ['new.deb', 1],
  ] as const) {
    const seconds = source.seconds + later;
    const content = nodeAgentPackage({ ...file, version: debianVersion({ ...source, seconds }), seconds });
    await writeFile(join(share, name), debianPackage(content));
  }
}

/** Suites that print their own results. */
const NO_REPORTER: readonly SuiteName[] = ['compare', 'e2e-node'];

/**
 * Returns the command that runs suites in the machine. The exit status of the command is that of the last failing
 * suite.
 */
export function suiteCommand(names: readonly SuiteName[], args: readonly string[] = []): string {
  const node = `${HOST_SHARE}/bin/node --disable-warning=ExperimentalWarning`;
  const lines = names.map((name) => {
    const flags = NO_REPORTER.includes(name) ? '' : '--test-reporter=spec ';
    return `${node} ${flags}${[`${HOST_SHARE}/${name}.js`, ...args].join(' ')} || status=$?`;
  });
  return ['export NO_COLOR=1 NODE_COMPILE_CACHE=/tmp/compiled', 'status=0', ...lines, 'exit $status'].join('\n');
}
