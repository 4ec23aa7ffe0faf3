// Checks that every published package can be used alone. Each package is packed, unpacked outside the workspace next to
// only its declared dependencies, and installed into a separate project, as a strict installer does: the project can
// import only the packages in the `npm install` line of the README. In the project
//   - every entry of the package's exports is imported, and its commands print their help,
//   - the program of the README (the first ```ts block) runs, ends and prints something,
//   - the program of the README runs as one file, bundled by esbuild and moved away from node_modules (unless it uses the runtime for tests),
//   - both are type-checked strictly, including all reachable declarations, with the oldest TypeScript version that the
//     declarations support, and with the newest,
//   - the size of the installation is printed, which is limited for some packages.
// Usage: node tools/checks/alone.mjs [--keep] [NAME]...    (requires built packages; NAME as in packages/NAME)
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { bundle } from './bundle.mjs';
import { installation, linkTo, packAll } from './packed.mjs';

const TIMEOUT_MS = 30_000;
/** Maximum number of packages and of megabytes that the installation of a small package may bring. */
const LIMITS = { pleg: { count: 5, megabytes: 2 }, 'pod-workers': { count: 5, megabytes: 2 } };
/** Oldest compiler that the declarations support, and the compiler that builds them. */
const COMPILERS = ['tools/packaging/node_modules/.bin/tsc', 'node_modules/.bin/tsc'];
/** Packages whose README program needs a container runtime, with the pattern of the expected output. */
const RUNTIME_OUTPUTS = new Map([
  ['cri-client', /./],
  ['image-gc', /^\d+ bytes of images are gone$/m],
]);
const keep = process.argv.includes('--keep');
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-alone-')));
const temporary = path.join(directory, 'tmp');
fs.mkdirSync(temporary);
const started = performance.now();
const faults = [];
try {
  await main();
} finally {
  if (keep) console.log(`kept: ${directory}`);
  else fs.rmSync(directory, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

async function main() {
  const packages = packAll(directory);
  const kilobytes = [...packages.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / 1000;
  console.log(`${packages.size} packages packed (${kilobytes.toFixed(0)} kB) into ${directory}`);
  for (const name of names) if (!packages.has(`@node-agent/${name}`)) throw new Error(`unknown package ${name}`);
  const wanted = [...packages.values()].filter(({ name }) => names.length === 0 || names.includes(path.basename(name)));
  for (const entry of wanted) makeProject(entry, packages);

  const waiting = [...wanted];
  const workers = Array.from({ length: 2 }, async () => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) await use(entry, packages);
  });
  await Promise.all(workers);
  checkTypes(wanted);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`used ${wanted.length} packages alone in ${seconds} s, ${faults.length} faults`);
}

/** Creates a project with this package and the others in its README's install line; it can import nothing else. */
function makeProject(entry, packages) {
  const { name, manifest, readme } = entry;
  const fault = (text) => faults.push(`${name}: ${text}`);
  for (const text of entry.faults) fault(text);
  entry.project = path.join(directory, 'projects', path.basename(name));
  const program = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1];
  const line = /^\$ npm install (?!-g|--global)(.+)$/m.exec(readme)?.[1];
  if (line === undefined && program !== undefined)
    fault('README.md: must contain a line `$ npm install ...` for its program');
  const installed = line?.split(' ') ?? [name];
  if (!installed.includes(name)) fault(`README.md: npm install line must install ${name}`);
  for (const other of installed) {
    if (!packages.has(other)) fault(`README.md installs ${other}, which is not published`);
    else linkTo(packages.get(other).folder, path.join(entry.project, 'node_modules', other));
    const isUsed = other === name || new RegExp(`from '${other}(?:/[^']*)?'`).test(program ?? '');
    if (!isUsed) fault(`README.md installs ${other}, which its program does not import`);
  }
  fs.writeFileSync(path.join(entry.project, 'package.json'), '{ "private": true, "type": "module" }\n');

  const subpaths = Object.keys(manifest.exports).filter((subpath) => subpath !== './package.json');
  const specifiers = subpaths.map((subpath) => path.posix.join(name, subpath));
  const imports = specifiers.map((specifier, index) => `import * as entry${index} from '${specifier}';`);
  const counts = specifiers.map((_, index) => `Object.keys(entry${index}).length`);
  entry.scripts = [];
  if (specifiers.length > 0) {
    entry.scripts.push('entries.ts');
    const text = `${imports.join('\n')}\nconsole.log(${counts.join(', ')});\n`;
    fs.writeFileSync(path.join(entry.project, 'entries.ts'), text);
  }
  if (program !== undefined) {
    entry.scripts.push('readme.ts');
    fs.writeFileSync(path.join(entry.project, 'readme.ts'), program);
  } else if (manifest.bin === undefined) {
    fault('README.md must contain a program in a ```ts block');
  }
}

/** Imports the package's entries, runs its commands and its README's program. */
async function use(entry, packages) {
  const from = performance.now();
  const printed = {};
  for (const [command, file] of Object.entries(entry.manifest.bin ?? {})) {
    await expect(entry, `${command} --help`, path.join(entry.folder, file), ['--help']);
  }
  for (const script of entry.scripts) printed[script] = await run(entry, packages, script, script);
  if (entry.scripts.includes('readme.ts') && !usesFakeRuntime(entry)) {
    const bundled = path.join(directory, 'bundles', path.basename(entry.name), 'readme.mjs');
    const errors = await bundle(entry.project, 'readme.ts', bundled);
    faults.push(...errors.map((error) => `${entry.name}: bundle of the README program: ${error}`));
    if (errors.length === 0) await run(entry, packages, 'readme.ts', bundled);
  }
  const { count, sizeBytes } = installation(packages, entry.name);
  const megabytes = sizeBytes / 1e6;
  const limit = LIMITS[path.basename(entry.name)];
  if (limit && (count > limit.count || megabytes > limit.megabytes)) {
    const wanted = `at most ${limit.count} packages of ${limit.megabytes} MB`;
    faults.push(`${entry.name}: npm installs ${count} packages of ${megabytes.toFixed(1)} MB, allowed are ${wanted}`);
  }
  const lines = printed['readme.ts']?.split('\n').filter(Boolean).length ?? 0;
  const what = [
    ...(entry.scripts.includes('entries.ts')
      ? [`exports ${printed['entries.ts']?.trim().split(' ').join(' + ')}`]
      : []),
    ...(entry.scripts.includes('readme.ts') ? [`README program printed ${lines} lines`] : []),
    ...Object.keys(entry.manifest.bin ?? {}).map((command) => `command ${command}`),
    `npm installs ${count} packages, ${megabytes.toFixed(1)} MB`,
  ];
  console.log(`${entry.name}: ${what.join(', ')} (${((performance.now() - from) / 1000).toFixed(1)} s)`);
}

/**
 * Returns whether a package or its README program uses the runtime for tests. Programs with this runtime are not
 * bundled, because the runtime needs grpc-js as it is published.
 */
function usesFakeRuntime({ name, manifest, project }) {
  const fake = '@node-agent/fake-cri';
  const program = fs.readFileSync(path.join(project, 'readme.ts'), 'utf8');
  return name === fake || fake in (manifest.dependencies ?? {}) || program.includes(`'${fake}'`);
}

/**
 * Runs a script, or the bundle of it. README programs that need a container runtime get a fake one. Returns what the
 * script printed.
 */
async function run(entry, packages, script, file) {
  const wanted = script === 'readme.ts' ? RUNTIME_OUTPUTS.get(path.basename(entry.name)) : undefined;
  const runtime = wanted ? await startFakeCri(packages, path.basename(entry.name)) : undefined;
  const args = ['--disable-warning=ExperimentalWarning', file, ...(runtime ? [runtime.endpoint] : [])];
  const printed = await expect(entry, file, process.execPath, args);
  await runtime?.stop();
  if (wanted && !wanted.test(printed))
    faults.push(`${entry.name}: README program printed ${JSON.stringify(printed)} with a runtime`);
  return printed;
}

/** Starts a runtime for a README program: the command of the packed fake-cri. */
async function startFakeCri(packages, name) {
  const endpoint = `unix://${path.join(temporary, `${name}.sock`)}`;
  const { folder, manifest } = packages.get('@node-agent/fake-cri');
  const server = spawn(path.join(folder, manifest.bin['fake-cri']), ['--listen', endpoint], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  await Promise.race([ended, new Promise((resolve) => server.stdout.once('data', resolve))]);
  const stop = async () => {
    server.kill('SIGTERM');
    await ended;
  };
  return { endpoint, stop };
}

/** Runs a program in the package's project. Every result other than exit code 0 with some output is a fault. */
async function expect(entry, what, file, args) {
  const child = spawn(file, args, { cwd: entry.project, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const outcome = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  clearTimeout(timer);
  if (outcome !== 0 || stdout.trim() === '') {
    faults.push(
      `${entry.name}: ${what} exited with ${outcome} and printed ${JSON.stringify(stdout.slice(0, 200))}\n${stderr}`,
    );
  }
  return stdout;
}

/**
 * Returns the environment of a user's shell, without the settings of this run (NODE_OPTIONS, conditions) and with a
 * separate temporary directory.
 */
function environment() {
  return { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary };
}

/**
 * Runs each compiler once for all projects. Each file is resolved from its own location, and declarations are checked,
 * too.
 */
function checkTypes(entries) {
  linkTo(
    fs.realpathSync(path.join(root, 'node_modules/@types/node')),
    path.join(directory, 'projects/node_modules/@types/node'),
  );
  const options = {
    target: 'es2022',
    lib: ['es2022'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  };
  const files = entries.flatMap((entry) => entry.scripts.map((script) => path.join(entry.project, script)));
  fs.writeFileSync(path.join(directory, 'projects/tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  for (const compiler of COMPILERS) compile(path.join(root, compiler), files.length);
}

function compile(tsc, count) {
  const from = performance.now();
  const run = (...args) => spawnSync(tsc, args, { cwd: directory, encoding: 'utf8' });
  const version = run('--version').stdout.trim().replace('Version', 'TypeScript');
  const result = run('-p', 'projects', '--pretty', 'false');
  const errors = result.stdout.split('\n').filter((line) => /error TS\d+/.test(line));
  if (result.status !== 0 && errors.length === 0)
    faults.push(`${version} exited with ${result.status}: ${result.stdout}${result.stderr}`);
  // Errors in third-party declarations are only counted: isomorphic-ws, for example, requires @types/ws next to it.
  const theirs = errors.filter((line) => line.startsWith('..'));
  faults.push(...errors.filter((line) => !line.startsWith('..')).map((line) => `${version}: ${line}`));
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  console.log(
    `${version}: checked ${count} programs in ${seconds} s; errors in third-party declarations: ${theirs.length}`,
  );
}
