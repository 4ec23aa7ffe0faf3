// Every published package is usable alone. Each is packed, unpacked outside the workspace beside its declared dependencies
// only, and installed into a project of its own as a strict installer does it: of all that is there, the project sees what its
// README's `npm install` line names, and no more. There
//   - every entry of its exports is imported, and its commands say what they can do,
//   - the program of its README (the first ```ts block) runs, ends and prints something,
//   - both are type-checked, strictly, together with all declarations that they lead to, by the oldest TypeScript that the
//     declarations promise to work with, and by the newest,
//   - and it is told how much an installation brings, which for some has a limit.
// Usage: node tools/checks/alone.mjs [--keep] [NAME]...    needs the packages built; NAME as in packages/NAME
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { installation, linkTo, packAll } from './packed.mjs';

const TIMEOUT_MS = 30_000;
/** What is small stays small: the most packages and megabytes that an installation of these may bring. */
const LIMITS = { pleg: { count: 20, megabytes: 6 }, 'pod-workers': { count: 20, megabytes: 6 } };
/** The oldest compiler that the declarations promise to work with, and the one that they are made with. */
const COMPILERS = ['tools/packaging/node_modules/.bin/tsc', 'node_modules/.bin/tsc'];
/** Whose README's program is given a runtime, and what it prints then. */
const WANT_A_RUNTIME = new Map([
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
  for (const name of names) if (!packages.has(`@node-agent/${name}`)) throw new Error(`no published package ${name}`);
  const wanted = [...packages.values()].filter(({ name }) => names.length === 0 || names.includes(path.basename(name)));
  for (const entry of wanted) makeProject(entry, packages);

  const waiting = [...wanted];
  const workers = Array.from({ length: 2 }, async () => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) await use(entry, packages);
  });
  await Promise.all(workers);
  checkTypes(wanted);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${wanted.length} packages used alone in ${seconds} s, ${faults.length} faults`);
}

/** A project that has installed this package and what its README installs with it, and can import nothing else. */
function makeProject(entry, packages) {
  const { name, manifest, readme } = entry;
  const fault = (text) => faults.push(`${name}: ${text}`);
  for (const text of entry.faults) fault(text);
  entry.project = path.join(directory, 'projects', path.basename(name));
  const program = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1];
  const line = /^\$ npm install (?!-g|--global)(.+)$/m.exec(readme)?.[1];
  if (line === undefined && program !== undefined)
    fault('README.md: no line `$ npm install ...` says what its program needs');
  const installed = line?.split(' ') ?? [name];
  if (!installed.includes(name)) fault(`README.md: its npm install line does not install ${name}`);
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
    fault('README.md shows no program in a ```ts block');
  }
}

/** Imports the package's entries, runs its commands and its README's program. */
async function use(entry, packages) {
  const from = performance.now();
  const printed = {};
  for (const [command, file] of Object.entries(entry.manifest.bin ?? {})) {
    await expect(entry, `${command} --help`, path.join(entry.folder, file), ['--help']);
  }
  for (const script of entry.scripts) {
    const wantsRuntime = script === 'readme.ts' && WANT_A_RUNTIME.has(path.basename(entry.name));
    const runtime = wantsRuntime ? await startFakeCri(packages, path.basename(entry.name)) : undefined;
    const args = ['--disable-warning=ExperimentalWarning', script, ...(runtime ? [runtime.endpoint] : [])];
    printed[script] = await expect(entry, script, process.execPath, args);
    await runtime?.stop();
    const wanted = runtime && WANT_A_RUNTIME.get(path.basename(entry.name));
    if (wanted && !wanted.test(printed[script]))
      faults.push(
        `${entry.name}: the program of its README, with a runtime, printed ${JSON.stringify(printed[script])}`,
      );
  }
  const { count, sizeBytes } = installation(packages, entry.name);
  const megabytes = sizeBytes / 1e6;
  const limit = LIMITS[path.basename(entry.name)];
  if (limit && (count > limit.count || megabytes > limit.megabytes)) {
    const wanted = `at most ${limit.count} packages of ${limit.megabytes} MB`;
    faults.push(`${entry.name}: brings ${count} packages of ${megabytes.toFixed(1)} MB, and is to bring ${wanted}`);
  }
  const lines = printed['readme.ts']?.split('\n').filter(Boolean).length ?? 0;
  const what = [
    ...(entry.scripts.includes('entries.ts')
      ? [`exports ${printed['entries.ts']?.trim().split(' ').join(' + ')}`]
      : []),
    ...(entry.scripts.includes('readme.ts') ? [`README program printed ${lines} lines`] : []),
    ...Object.keys(entry.manifest.bin ?? {}).map((command) => `command ${command}`),
    `brings ${count} packages, ${megabytes.toFixed(1)} MB`,
  ];
  console.log(`${entry.name}: ${what.join(', ')} (${((performance.now() - from) / 1000).toFixed(1)} s)`);
}

/** A runtime for the program of a README to look at: the packed fake-cri's own command, in a project of its own. */
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

/** Runs a program in the package's project; anything but exit code 0 and some output is a fault. */
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
      `${entry.name}: ${what} ended with ${outcome}, printed ${JSON.stringify(stdout.slice(0, 200))}\n${stderr}`,
    );
  }
  return stdout;
}

/** What a user's shell has, and nothing of this run: no NODE_OPTIONS, no conditions, a temporary folder of its own. */
function environment() {
  return { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary };
}

/** One run of each compiler over all projects, each file resolved from where it lies, declarations checked too. */
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
    faults.push(`${version} ended with ${result.status}: ${result.stdout}${result.stderr}`);
  // What other projects' declarations have wrong among themselves is theirs (isomorphic-ws wants @types/ws beside it).
  const theirs = errors.filter((line) => line.startsWith('..'));
  faults.push(...errors.filter((line) => !line.startsWith('..')).map((line) => `${version}: ${line}`));
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  console.log(
    `${version}: ${count} programs checked in ${seconds} s; in others' declarations: ${theirs.length} faults`,
  );
}
