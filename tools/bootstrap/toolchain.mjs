// Installs the tools that build the repository, from npm only: pnpm, and a current Node.js if the installed one is too
// old. All files are in .toolchain/ of the clone; nothing is installed globally. Runs on Node.js 20.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const toolchainDir = path.join(root, '.toolchain');

// If the reader of the output has closed it (`npm start 2>&1 | head`), lines are lost, but this process must not end
// while its child runs.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

/** Minimum version of Node.js for tsup, vitest and changesets. */
const MINIMUM_NODE = [22, 18];
const NODE_VERSION = '24.21.0';
const PNPM_VERSION = '12.21.0';

export const say = (text) => process.stderr.write(`\x1b[2m[node-agent]\x1b[0m ${text}\n`);

function fail(text) {
  say(text);
  process.exit(1);
}

/** Runs a program and prints its output only if it fails. */
function quietly(what, file, args, options = {}) {
  const result = spawnSync(file, args, { encoding: 'utf8', ...options });
  if (result.status === 0) return result.stdout;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  return fail(`${what} failed (${result.error?.message ?? `exit code ${result.status}`}): ${file} ${args.join(' ')}`);
}

function nodeIsRecent(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number);
  return major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1]);
}

/** Installs npm packages into .toolchain/ and keeps the packages that are already there. */
function npmInstall(specs) {
  const stamp = path.join(toolchainDir, 'installed');
  const known = fs.existsSync(stamp) ? fs.readFileSync(stamp, 'utf8').split('\n').filter(Boolean) : [];
  if (specs.every((spec) => known.includes(spec))) return;
  say(`installing ${specs.join(', ')} from npm into .toolchain/`);
  // npm removes packages that are not listed, but a shell with another Node.js on its PATH may still use them.
  const nameOf = (spec) => spec.slice(0, spec.lastIndexOf('@'));
  const kept = known.filter((spec) => !specs.some((wanted) => nameOf(wanted) === nameOf(spec)));
  const all = [...kept, ...specs];
  fs.mkdirSync(toolchainDir, { recursive: true });
  fs.writeFileSync(path.join(toolchainDir, 'package.json'), '{ "private": true }\n');
  const flags = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  quietly('npm install', 'npm', ['install', ...flags, ...all], { cwd: toolchainDir });
  fs.writeFileSync(stamp, all.join('\n'));
}

/**
 * Installs Node.js and pnpm if needed, and the workspace's dependencies from the lock file.
 * @returns the environment for every other command of the repository
 */
export function prepare() {
  const specs = [`pnpm@${PNPM_VERSION}`];
  const recent = nodeIsRecent(process.version);
  if (!recent) {
    if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) {
      fail(
        `Node.js ${process.version} is too old, and no newer one can be installed for ${process.platform}-${process.arch}: install ${MINIMUM_NODE.join('.')} or newer`,
      );
    }
    specs.push(`node-linux-${process.arch}@${NODE_VERSION}`);
  }
  npmInstall(specs);

  const nodeDir = recent
    ? path.dirname(process.execPath)
    : path.join(toolchainDir, `node_modules/node-linux-${process.arch}/bin`);
  const env = {
    ...process.env,
    PATH: [
      nodeDir,
      path.join(toolchainDir, 'node_modules/.bin'),
      path.join(root, 'node_modules/.bin'),
      process.env.PATH,
    ].join(path.delimiter),
    NX_DAEMON: 'false',
    NX_TUI: 'false',
    NX_NO_CLOUD: 'true',
    NX_SKIP_NX_CACHE_CHECK: 'true',
    DO_NOT_TRACK: '1',
    // Version of Node.js in the caller's shell, which may run the packed programs.
    NODE_AGENT_CALLER_NODE: process.version,
  };
  // npm's environment variables must not affect the package manager that is started here.
  for (const key of Object.keys(env)) if (/^npm_/i.test(key)) delete env[key];
  installDependencies(env);
  return env;
}

function installDependencies(env) {
  const hash = createHash('sha256');
  const manifests = ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', ...workspaceManifests()];
  for (const file of manifests) hash.update(file).update(fs.readFileSync(path.join(root, file)));
  const digest = hash.digest('hex');
  const stamp = path.join(root, 'node_modules/.installed');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === digest) return;
  say('installing the dependencies in pnpm-lock.yaml');
  quietly('pnpm install', 'pnpm', ['install', '--frozen-lockfile', '--reporter=append-only'], { cwd: root, env });
  fs.writeFileSync(stamp, digest);
}

/** Returns the package.json files of all workspace packages, relative to the root, sorted. */
export function workspaceManifests() {
  return ['apps', 'packages', 'tools']
    .flatMap((group) =>
      fs.existsSync(path.join(root, group))
        ? fs.readdirSync(path.join(root, group)).map((name) => `${group}/${name}/package.json`)
        : [],
    )
    .filter((file) => fs.existsSync(path.join(root, file)))
    .sort();
}

/** Runs a program in the prepared environment with its output shown, and returns its exit code. */
export function run(env, file, args, options = {}) {
  const result = spawnSync(file, args, { cwd: root, env, stdio: 'inherit', ...options });
  if (result.error) fail(`${file}: ${result.error.message}`);
  return result.status ?? 1;
}
