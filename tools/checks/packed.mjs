// Provides the published packages as users install them: packed into tarballs and unpacked outside the workspace, each
// next to only the dependencies that its packed package.json declares. Third-party packages come from the workspace.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { pack } from '../packaging/src/pack/pack.ts';

const SCOPE = '@node-agent/';

/**
 * Packs every published package and unpacks it into `directory`/store/<name>/node_modules/<name> with links to its
 * declared dependencies. An import of a package that is not declared fails.
 * @returns the packages by name, each with its packed manifest, its folder, its README and the faults of its tarball
 */
export function packAll(directory) {
  const packages = new Map();
  for (const { directory: source, published, tarball, sizeBytes } of pack(path.join(directory, 'tarballs'))) {
    const { name } = published;
    const folder = path.join(storeOf(directory, name), name);
    fs.mkdirSync(folder, { recursive: true });
    runOrThrow('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder], root);
    const readme = path.join(folder, 'README.md');
    packages.set(name, {
      name,
      source: path.join(root, source),
      folder,
      manifest: readJson(path.join(folder, 'package.json')),
      readme: fs.existsSync(readme) ? fs.readFileSync(readme, 'utf8') : '',
      sizeBytes,
      faults: [],
    });
  }
  for (const entry of packages.values()) linkDependencies(directory, entry, packages);
  return packages;
}

/**
 * Copies the packages with another version into separate folders, as if two dependencies of a program required
 * different versions. Third-party packages are shared.
 */
export function repack(directory, packages, version) {
  const copies = new Map();
  for (const { name, source, folder, manifest } of packages.values()) {
    const own = Object.keys(manifest.dependencies ?? {}).filter((dependency) => packages.has(dependency));
    const dependencies = {
      ...manifest.dependencies,
      ...Object.fromEntries(own.map((other) => [other, `^${version}`])),
    };
    const copy = { name, source, folder: path.join(storeOf(directory, name), name), faults: [] };
    fs.cpSync(folder, copy.folder, { recursive: true });
    copy.manifest = { ...manifest, version, dependencies };
    fs.writeFileSync(path.join(copy.folder, 'package.json'), JSON.stringify(copy.manifest));
    copies.set(name, copy);
  }
  for (const copy of copies.values()) linkDependencies(directory, copy, copies);
  return copies;
}

/**
 * Returns the number of packages that an installation of a package brings, including itself and third-party packages,
 * and their size on disk.
 */
export function installation(packages, name) {
  const folders = new Map();
  const visit = (folder, dependencies) => {
    if (folders.has(folder)) return;
    folders.set(folder, sizeOf(folder));
    for (const dependency of dependencies) {
      const own = packages.get(dependency);
      const link = resolveUpwards(folder, dependency);
      if (own) visit(own.folder, Object.keys(own.manifest.dependencies ?? {}));
      else if (link) visit(link, Object.keys(readJson(path.join(link, 'package.json')).dependencies ?? {}));
      else throw new Error(`${folder} depends on ${dependency}, which is not installed`);
    }
  };
  const { folder, manifest } = packages.get(name);
  visit(folder, Object.keys(manifest.dependencies ?? {}));
  return { count: folders.size, sizeBytes: [...folders.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

/** Returns the folder in which Node finds a dependency of the package in this folder. */
function resolveUpwards(folder, dependency) {
  for (let at = folder; at !== path.dirname(at); at = path.dirname(at)) {
    const link = path.join(at, 'node_modules', dependency);
    if (fs.existsSync(link)) return fs.realpathSync(link);
  }
  return undefined;
}

/** Returns the size of a package's files, without packages that are installed inside it. */
function sizeOf(folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules');
  const sizes = entries.map((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? sizeOf(file) : fs.lstatSync(file).size;
  });
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** Creates a symbolic link `link` to `target`, including missing parent folders. */
export function linkTo(target, link) {
  fs.mkdirSync(path.dirname(link), { recursive: true });
  fs.symlinkSync(target, link, 'dir');
}

function linkDependencies(directory, { name, source, manifest, faults }, packages) {
  for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
    const own = packages.get(dependency);
    const target = own?.folder ?? resolveFrom(source, dependency) ?? resolvePin(manifest, dependency, range);
    if (target === undefined) {
      faults.push(
        `depends on ${dependency}, which is ${dependency.startsWith(SCOPE) ? 'not published' : 'not installed'}`,
      );
      continue;
    }
    const { version } = readJson(path.join(target, 'package.json'));
    // Packing replaces workspace:^ by a caret range of the version that is published with it. A range must not start
    // below the tested version. A package with a program requires exactly the tested versions of third-party packages.
    const wanted = manifest.bin !== undefined && own === undefined ? version : `^${version}`;
    if (range !== wanted) faults.push(`depends on ${dependency} ${range}: must be ${wanted}, the tested version`);
    linkTo(target, path.join(storeOf(directory, name), dependency));
  }
}

/**
 * Finds, in the store of the package manager, a third-party dependency that a package with a program pins to a version.
 */
function resolvePin(manifest, dependency, version) {
  if (manifest.bin === undefined) return undefined;
  const store = path.join(root, 'node_modules/.pnpm');
  const wanted = `${dependency.replace('/', '+')}@${version}`;
  // Names in the store continue after the version with the versions of peer dependencies (`name@1.0.0_peer@2.0.0`).
  const folder = fs.readdirSync(store).find((name) => name === wanted || name.startsWith(`${wanted}_`));
  return folder && resolveFrom(path.join(store, folder), dependency);
}

function resolveFrom(source, dependency) {
  const link = path.join(source, 'node_modules', dependency);
  return fs.existsSync(link) ? fs.realpathSync(link) : undefined;
}

function storeOf(directory, name) {
  return path.join(directory, 'store', path.basename(name), 'node_modules');
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function runOrThrow(file, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(file, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `${status}\n${stdout}${stderr}`}`);
}
