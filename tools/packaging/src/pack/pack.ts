import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Manifest, publishedPackages, root, type WorkspacePackage } from '../workspace.ts';
import { pinsOf, readLockFile } from './pins.ts';
import { publishedManifest } from './published-manifest.ts';

/** Package that was packed. */
export interface PackedPackage extends WorkspacePackage {
  /** Manifest in the tarball. */
  readonly published: Manifest;
  readonly tarball: string;
  readonly sizeBytes: number;
}

/** Files of each package that are packed if they exist. LICENSE comes from the root of the checkout. */
const CONTENT = ['dist', 'src', 'README.md', 'CHANGELOG.md'];

/**
 * Packs published packages into `output`, which is created. The checks and the release use the same tarballs. The
 * packages must be built.
 * @returns the packed packages in dependency order
 */
export function pack(
  output: string,
  { from = root, packages = publishedPackages(from) }: { from?: string; packages?: readonly WorkspacePackage[] } = {},
): readonly PackedPackage[] {
  const all = publishedPackages(from);
  const versions = new Map(all.map(({ manifest }) => [manifest.name, manifest.version]));
  const lockFile = path.join(from, 'pnpm-lock.yaml');
  const locked = readLockFile(fs.existsSync(lockFile) ? fs.readFileSync(lockFile, 'utf8') : '');
  const pins = ({ directory, manifest }: WorkspacePackage) =>
    manifest.bin === undefined ? {} : pinsOf(directory, locked);
  fs.mkdirSync(output, { recursive: true });
  const staging = fs.mkdtempSync(path.join(output, '.staging-'));
  try {
    const staged = packages.map((entry) => ({
      ...entry,
      published: stage(entry, {
        from,
        to: path.join(staging, entry.shortName),
        versions,
        pinned: pins(entry),
      }),
    }));
    npmPack(
      staged.map(({ shortName }) => path.join(staging, shortName)),
      output,
    );
    return staged.map((entry) => {
      const tarball = path.join(output, tarballName(entry.published));
      return { ...entry, tarball, sizeBytes: fs.statSync(tarball).size };
    });
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
  }
}

/** Copies the files of a package that are published, and writes the published manifest. */
function stage(
  { directory, manifest }: WorkspacePackage,
  {
    from,
    to,
    versions,
    pinned,
  }: { from: string; to: string; versions: ReadonlyMap<string, string>; pinned: Readonly<Record<string, string>> },
): Manifest {
  const source = path.join(from, directory);
  if (!fs.existsSync(path.join(source, 'dist'))) throw new Error(`${directory}/dist: missing; run npm run build`);
  for (const name of CONTENT.filter((each) => fs.existsSync(path.join(source, each)))) {
    fs.cpSync(path.join(source, name), path.join(to, name), { recursive: true });
  }
  fs.copyFileSync(path.join(from, 'LICENSE'), path.join(to, 'LICENSE'));
  const published = publishedManifest(manifest, versions, pinned);
  fs.writeFileSync(path.join(to, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  return published;
}

function npmPack(folders: readonly string[], output: string): void {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', output, ...folders];
  const { status, stderr, error } = spawnSync('npm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack: ${error?.message ?? `exit code ${status}\n${stderr}`}`);
}

/** Returns the file name that npm gives to a package's tarball. */
function tarballName({ name, version }: Manifest): string {
  return `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
}
