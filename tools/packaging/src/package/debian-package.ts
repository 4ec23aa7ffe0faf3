import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tar } from '@node-agent/tools-containerd';
import { ar } from './ar.ts';

/** File of a package. */
export interface PackagedFile {
  /** Absolute path on the target. */
  readonly path: string;
  readonly content: Uint8Array | string;
  /** Permission bits of the file. Default: 0o644. */
  readonly mode?: number;
  /** Whether dpkg keeps the operator's changes to the file. Default: false. */
  readonly isConfiguration?: boolean;
}

/** Content of a Debian package. */
export interface DebianContent {
  /** Fields of the control file, without `Installed-Size`. */
  readonly control: Readonly<Record<string, string>>;
  /** Maintainer scripts by name. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly files: readonly PackagedFile[];
  /** Symbolic links: absolute path and target. */
  readonly links: Readonly<Record<string, string>>;
  /** Directories that the package contains without any file. */
  readonly directories: readonly string[];
  /** Time of all files, in seconds since 1970. */
  readonly seconds: number;
}

/**
 * Returns a Debian package (deb(5)). The format is an ar archive of two tar archives, so no program of Debian is needed
 * to write it, and packages can be built anywhere. The tar archives are compressed with gzip, because the dpkg of each
 * supported release can read gzip, and gzip unpacks quickest on slow machines. Equal content gives equal bytes.
 */
export function debianPackage({ control, scripts, files, links, directories, seconds }: DebianContent): Buffer {
  const encoded = files.map(({ path, content, mode = 0o644 }) => ({ path, mode, data: Buffer.from(content) }));
  const kibibytes = encoded.reduce((sum, { data }) => sum + Math.ceil(data.length / 1024), 0);
  const fields = { ...control, 'Installed-Size': String(kibibytes) };
  const configuration = files.filter(({ isConfiguration }) => isConfiguration).map(({ path }) => `${path}\n`);
  const text = (path: string, content: string, mode = 0o644): TarEntry => ({
    path: `./${path}`,
    mode,
    data: Buffer.from(content),
  });
  const meta = [
    text(
      'control',
      Object.entries(fields)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join(''),
    ),
    text('conffiles', configuration.join('')),
    text('md5sums', encoded.map(({ path, data }) => `${md5(data)}  ${path.slice(1)}\n`).join('')),
    ...Object.entries(scripts).map(([name, script]) => text(name, script, 0o755)),
  ];
  const paths = [...encoded.map(({ path }) => path), ...Object.keys(links)].map((path) => posix.dirname(path));
  const data = [...[...paths, ...directories].flatMap(withParents)];
  const entries: readonly TarEntry[] = [
    ...[...new Set(data)].sort().map((path) => ({ path: `.${path}`, mode: 0o755 })),
    ...encoded.map((file) => ({ ...file, path: `.${file.path}` })),
    ...Object.entries(links).map(([path, link]) => ({ path: `.${path}`, mode: 0o777, link })),
  ];
  const root: TarEntry = { path: './', mode: 0o755 };
  const members = [
    { name: 'debian-binary', data: Buffer.from('2.0\n') },
    { name: 'control.tar.gz', data: gzipSync(tar([root, ...meta], seconds)) },
    { name: 'data.tar.gz', data: gzipSync(tar([root, ...entries], seconds)) },
  ];
  return ar(members, seconds);
}

/** Returns a directory and its parents without the root: `/usr`, `/usr/bin`. */
function withParents(directory: string): readonly string[] {
  return directory === '/' ? [] : [...withParents(posix.dirname(directory)), directory];
}

function md5(data: Uint8Array): string {
  return createHash('md5').update(data).digest('hex');
}
