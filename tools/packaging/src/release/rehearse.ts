import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pack } from '../pack/pack.ts';
import { publishedPackages, type WorkspacePackage } from '../workspace.ts';
import { npmRegistry } from './npm-registry.ts';
import { startPrivateRegistry } from './private-registry.ts';
import { publishMissing } from './publish.ts';

/**
 * Rehearses a release of a copy of the checkout at `root` to a registry on the loopback: sets the versions that the
 * changesets request, packs the tarballs, publishes them in dependency order, and installs the kubelet and its cluster
 * command from the registry.
 * @throws Error at the first problem
 */
export async function rehearse(root: string): Promise<void> {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-release-')));
  try {
    const checkout = path.join(directory, 'checkout');
    copyCheckout(root, checkout);
    const pending = pendingChangesets(checkout).length;
    const before = publishedPackages(checkout);
    if (pending > 0) run('changeset', ['version'], checkout);
    const after = publishedPackages(checkout);
    checkVersions(before, after, checkout, pending);

    const packed = pack(path.join(directory, 'tarballs'), { from: checkout });
    await using registry = await startPrivateRegistry(directory, path.join(root, '.toolchain/verdaccio'));
    const npm = npmRegistry({ ...registry, provenance: false });
    const first = await publishMissing(packed, npm);
    if (first.length !== packed.length)
      throw new Error(`only ${first.length} of ${packed.length} packages were published`);
    const again = await publishMissing(packed, npm);
    if (again.length > 0) throw new Error(`second run published packages again: ${again.join(', ')}`);
    console.log(`${first.length} packages published in dependency order`);

    const version = packed.find(({ shortName }) => shortName === 'kubelet')?.published.version;
    const kubelet = installPrograms(path.join(directory, 'user'), registry.url);
    const said = kubelet('--version');
    if (!said.includes(`+node-agent.${version}`))
      throw new Error(`kubelet --version printed ${said}, expected ${version}`);
    const help = kubelet('cluster', '--help');
    if (!help.startsWith('Usage: kubelet cluster ')) throw new Error(`kubelet cluster --help printed ${help}`);
    console.log(`npm install ${PROGRAMS.join(' ')}; kubelet --version: ${said.trim()}`);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the file names of the changesets that are not released yet. */
export function pendingChangesets(root: string): readonly string[] {
  return fs.readdirSync(path.join(root, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

/** Copies what a release reads: manifests, changesets, and the built packages. */
function copyCheckout(root: string, to: string): void {
  for (const name of ['package.json', 'pnpm-workspace.yaml', 'LICENSE', '.changeset']) {
    fs.cpSync(path.join(root, name), path.join(to, name), { recursive: true });
  }
  for (const group of ['apps', 'packages', 'tools']) {
    for (const name of fs.readdirSync(path.join(root, group))) {
      const folder = path.join(group, name);
      if (!fs.existsSync(path.join(root, folder, 'package.json'))) continue;
      const parts = group === 'tools' ? ['package.json'] : ['package.json', 'README.md', 'CHANGELOG.md', 'dist', 'src'];
      for (const part of parts.filter((each) => fs.existsSync(path.join(root, folder, each)))) {
        fs.cpSync(path.join(root, folder, part), path.join(to, folder, part), { recursive: true });
      }
    }
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(to, 'node_modules'));
}

/**
 * Checks the result of `changeset version`: no changesets are left, at least one package has a new version, and each
 * changelog begins with the new version.
 */
function checkVersions(
  before: readonly WorkspacePackage[],
  after: readonly WorkspacePackage[],
  checkout: string,
  pending: number,
): void {
  const old = new Map(before.map(({ manifest }) => [manifest.name, manifest.version]));
  const bumped = after.filter(({ manifest }) => old.get(manifest.name) !== manifest.version);
  if (pending > 0 && bumped.length === 0) throw new Error(`${pending} changesets changed no version`);
  if (pendingChangesets(checkout).length > 0) throw new Error('changeset version left changesets behind');
  for (const { directory, manifest } of bumped) {
    const changelog = path.join(checkout, directory, 'CHANGELOG.md');
    const text = fs.existsSync(changelog) ? fs.readFileSync(changelog, 'utf8') : '';
    const heading = /^## (.+)$/m.exec(text)?.[1];
    if (heading !== manifest.version)
      throw new Error(`${directory}/CHANGELOG.md does not begin with ${manifest.version}`);
  }
  const unversioned = after.filter(({ manifest }) => manifest.version === '0.0.0');
  if (unversioned.length > 0) {
    throw new Error(`no changeset sets a version for ${unversioned.map(({ shortName }) => shortName).join(', ')}`);
  }
  console.log(`${pending} changesets: new versions of ${bumped.length} packages`);
}

/** Packages whose installation is rehearsed. The second package has the program that `kubelet cluster` starts. */
const PROGRAMS = ['@node-agent/kubelet', '@node-agent/cluster'];

/**
 * Installs the programs into an empty directory: packages of the scope from this registry, all others from npm's.
 * @returns a function that runs the kubelet and returns its output
 */
function installPrograms(folder: string, registry: string): (...args: readonly string[]) => string {
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  fs.writeFileSync(path.join(folder, '.npmrc'), `@node-agent:registry=${registry}\n`);
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  run('npm', ['install', ...flags, ...PROGRAMS], folder);
  return (...args) => run(path.join(folder, 'node_modules/.bin/kubelet'), args, folder);
}

function run(file: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(
    `${path.basename(file)} ${args.join(' ')}: ${error?.message ?? `exit code ${status}\n${stdout}${stderr}`}`,
  );
}
