// Checks that two versions of the packages work side by side in one program, as happens if two of its dependencies
// require different versions. All packages are packed and unpacked twice, the second time with another version. Then
// - the type of every export must be assignable to the same type of the other version, so that values can be passed
// between the versions: interfaces, functions, constructor parameters, and the members of classes,
// - tools/checks/two-versions/program.ts is type-checked and run. This program combines managers of one version with
// clients of the other. Usage: node tools/checks/two-versions.mjs [--keep] (requires built packages)
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { linkTo, packAll, repack } from './packed.mjs';

const TIMEOUT_MS = 60_000;
/**
 * Packages whose values are not passed to other packages: they assemble the other packages, replace them in tests, are
 * used by generated code, or are a library of another project (yaml).
 */
const ENDS = new Set(['kubelet', 'kubelet-assembly', 'simulation', 'grpc', 'yaml']);
/**
 * TypeScript type for the members of a class that another package may declare in a port. Members that are objects of a
 * class are reduced to their public members, too.
 */
const MEMBERS = `
type Method = (...args: never) => unknown;
type Members<T> = { [K in keyof T]: T[K] extends Method ? T[K] : T[K] extends object ? Pick<T[K], keyof T[K]> : T[K] };
`;
const keep = process.argv.includes('--keep');
const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-two-versions-')));
const faults = [];
try {
  main();
} finally {
  if (keep) console.log(`kept: ${directory}`);
  else fs.rmSync(directory, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

function main() {
  const packages = packAll(path.join(directory, 'one'));
  const sides = { one: packages, other: repack(path.join(directory, 'other'), packages, '99.0.0') };
  const project = path.join(directory, 'project');
  const entries = [...packages.values()].filter(({ name }) => !ENDS.has(path.basename(name))).flatMap(entriesOf);
  for (const [side, copies] of Object.entries(sides)) {
    for (const { name, folder } of copies.values()) linkTo(folder, path.join(project, side, 'node_modules', name));
    const lines = entries.map(({ alias, specifier }) => `export * as ${alias} from '${specifier}';\n`);
    fs.writeFileSync(path.join(project, side, 'all.ts'), lines.join(''));
  }
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const types = linesOfTypes(entries);
  const imports = "import type * as one from './one/all.ts';\nimport type * as other from './other/all.ts';\n";
  fs.writeFileSync(path.join(project, 'types.ts'), `${imports}${MEMBERS}\n${types.join('\n')}\n`);
  fs.copyFileSync(path.join(import.meta.dirname, 'two-versions/program.ts'), path.join(project, 'program.ts'));
  checkTypes(project);
  console.log(`${packages.size} packages in two versions: ${types.length} types compared, ${faults.length} differ`);
  runProgram(project);
}

/** Returns the importable entries of a package, each with a name under which the generated program imports it. */
function entriesOf({ name, folder, manifest }) {
  const entries = Object.entries(manifest.exports ?? {}).filter(([, target]) => target.types !== undefined);
  return entries.map(([subpath, target]) => {
    const specifier = path.posix.join(name, subpath);
    const alias = specifier.replace('@node-agent/', '').replace(/[-/](\w)/g, (_, letter) => letter.toUpperCase());
    return { alias, specifier, declarations: path.join(folder, target.types) };
  });
}

/** Returns one line of TypeScript per export that assigns the other version's type to this version's. */
function linesOfTypes(entries) {
  return entries.flatMap(({ alias, declarations }) =>
    exportsOf(declarations).flatMap(({ name, exported, isType, file }) => {
      const { kind, parameters } = declarationOf(file, name, isType);
      const of = (side, what = '') => `${side}.${alias}.${exported}${what}`;
      const anything = parameters === 0 ? '' : `<${Array(parameters).fill('any').join(', ')}>`;
      const fits = (make) => `{ const value: ${make('one')} = null! as ${make('other')}; void value; }`;
      if (kind === 'function' || kind === 'const') return [fits((side) => `typeof ${of(side)}`)];
      if (kind !== 'class') return [fits((side) => of(side, anything))];
      return [
        fits((side) => `Members<${of(side, anything)}>`),
        ...(/^\s+(?:private|protected) constructor/m.test(file)
          ? []
          : [fits((side) => `ConstructorParameters<typeof ${of(side)}>`)]),
      ];
    }),
  );
}

/** Returns the exports of an entry with the text of the file that declares them. Entries list their exports by name. */
function exportsOf(declarations) {
  const text = fs.readFileSync(declarations, 'utf8');
  const lists = [...text.matchAll(/^export (type )?\{([^}]*)\} from '(\.[^']+)';/gm)];
  return lists.flatMap(([, ofTypes, names, from]) => {
    const file = fs.readFileSync(path.join(path.dirname(declarations), from.replace(/\.[jt]s$/, '.d.ts')), 'utf8');
    return names
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean)
      .map((one) => {
        const [name, exported = name] = one.replace(/^type /, '').split(' as ');
        return { name, exported, isType: ofTypes !== undefined || one.startsWith('type '), file };
      });
  });
}

/** Returns the kind of a name's declaration and its number of type parameters. */
function declarationOf(text, name, isType) {
  const found = new RegExp(
    `^export (?:declare )?(?:abstract )?(class|interface|type|function|const) ${name}\\b(<)?`,
    'm',
  ).exec(text);
  // The file only re-exports the name, which is declared in another file.
  if (found === null) return { kind: isType ? 'type' : 'const', parameters: 0 };
  return { kind: found[1], parameters: found[2] ? parametersAt(text, found.index + found[0].length) : 0 };
}

/** Returns the number of type parameters after an opening `<`. */
function parametersAt(text, start) {
  let depth = 1;
  let count = 1;
  for (let at = start; depth > 0; at += 1) {
    const character = text[at];
    if (character === '=' && text[at + 1] === '>') at += 1;
    else if ('<({['.includes(character)) depth += 1;
    else if ('>)}]'.includes(character)) depth -= 1;
    else if (character === ',' && depth === 1) count += 1;
  }
  return count;
}

function checkTypes(project) {
  linkTo(fs.realpathSync(path.join(root, 'node_modules/@types/node')), path.join(project, 'node_modules/@types/node'));
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2024', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  const files = ['types.ts', 'program.ts'];
  fs.writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = path.join(root, 'node_modules/.bin/tsc');
  const { status, stdout, stderr } = spawnSync(tsc, ['-p', project, '--pretty', 'false'], {
    cwd: project,
    encoding: 'utf8',
  });
  if (status === 0) return;
  const lines = fs.readFileSync(path.join(project, 'types.ts'), 'utf8').split('\n');
  // An error consists of one line and the indented lines below it.
  const errors = stdout.split(/\n(?=\S)/).filter((text) => /error TS\d+/.test(text));
  if (errors.length === 0) faults.push(`tsc exited with ${status}: ${stdout}${stderr}`);
  for (const error of errors) {
    const line = /^types\.ts\((\d+)/.exec(error)?.[1];
    faults.push(line === undefined ? error : `${lines[line - 1]}\n  ${error.trimEnd()}`);
  }
}

/** Runs the program. Any end other than its success message is a fault. */
function runProgram(project) {
  const home = path.join(directory, 'home');
  fs.mkdirSync(home);
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'program.ts'],
    {
      cwd: project,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
    },
  );
  process.stdout.write(stdout);
  if (status !== 0 || !stdout.includes('\nall checks passed'))
    faults.push(`program.ts exited with ${status ?? signal}\n${stderr}`);
}
