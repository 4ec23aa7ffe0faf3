// The published packages as whoever installs them gets them: packed into tarballs, unpacked outside the workspace, each
// beside nothing but the dependencies that its packed package.json declares. Third-party packages are the workspace's own.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

const SCOPE = '@node-agent/';

/**
 * Packs every published package and unpacks it into `directory`/store/<name>/node_modules/<name>, its declared
 * dependencies linked beside it: an import of anything else finds nothing.
 * @returns the packages by name, each with its packed manifest, its folder, its README and what is wrong with its tarball
 */
export function packAll(directory) {
  const tarballs = path.join(directory, 'tarballs');
  const packages = new Map();
  fs.mkdirSync(tarballs, { recursive: true });
  const sources = workspaceManifests()
    .map((file) => path.join(root, path.dirname(file)))
    .map((source) => ({ source, manifest: readJson(path.join(source, 'package.json')) }))
    .filter(({ manifest }) => !manifest.private);
  const filters = sources.flatMap(({ manifest }) => ['--filter', manifest.name]);
  must('pnpm', ['--recursive', ...filters, 'pack', '--pack-destination', tarballs], root);
  for (const { source, manifest } of sources) {
    const { name, version } = manifest;
    const folder = path.join(storeOf(directory, name), name);
    fs.mkdirSync(folder, { recursive: true });
    const tarball = path.join(tarballs, `${name.slice(1).replace('/', '-')}-${version}.tgz`);
    must('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder], root);
    const readme = path.join(folder, 'README.md');
    packages.set(name, {
      name,
      source,
      folder,
      manifest: readJson(path.join(folder, 'package.json')),
      readme: fs.existsSync(readme) ? fs.readFileSync(readme, 'utf8') : '',
      sizeBytes: fs.statSync(tarball).size,
      faults: [],
    });
  }
  for (const entry of packages.values()) linkDependencies(directory, entry, packages);
  return packages;
}

/** The packages of this repository that an installation of these brings: themselves and whatever they depend on. */
export function closure(packages, names) {
  const all = new Set();
  const visit = (name) => {
    if (all.has(name) || !packages.has(name)) return;
    all.add(name);
    for (const dependency of Object.keys(packages.get(name).manifest.dependencies ?? {})) visit(dependency);
  };
  names.forEach(visit);
  return [...all];
}

/** Makes `link` lead to `target`, with the folders on the way. */
export function linkTo(target, link) {
  fs.mkdirSync(path.dirname(link), { recursive: true });
  fs.symlinkSync(target, link, 'dir');
}

function linkDependencies(directory, { name, source, manifest, faults }, packages) {
  for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
    const own = packages.get(dependency);
    const target = own?.folder ?? resolveFrom(source, dependency);
    if (target === undefined) {
      faults.push(
        `depends on ${dependency}, which is ${dependency.startsWith(SCOPE) ? 'not published' : 'not installed'}`,
      );
      continue;
    }
    const { version } = readJson(path.join(target, 'package.json'));
    // Packing turns workspace:^ into a caret range of the version that goes out with it.
    const wanted = own ? `^${version}` : version;
    if (range !== wanted) faults.push(`depends on ${dependency} ${range}, and ${version} is what it is tested with`);
    linkTo(target, path.join(storeOf(directory, name), dependency));
  }
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

function must(file, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(file, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `${status}\n${stdout}${stderr}`}`);
}
