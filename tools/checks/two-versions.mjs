// Two versions of the packages work side by side in one program, as they do where two of its dependencies do not agree on one.
// All are packed and unpacked twice, once as another version. Then
//   - whatever is exported has a type that fits that of the other version, so that a value of one may be passed to the other:
//     interfaces, functions, what a constructor takes, and each class as the members that it has,
//   - tools/checks/two-versions/program.ts is type-checked and runs: it joins managers of one version to clients of the other.
// Usage: node tools/checks/two-versions.mjs [--keep]    needs the packages built
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { linkTo, packAll, repack } from './packed.mjs';

const TIMEOUT_MS = 60_000;
/** Whose values nobody passes on: they join the others, stand in their place in tests, or are what their generated code is made of. */
const ENDS = new Set(['kubelet', 'kubelet-assembly', 'simulation', 'grpc']);
/**
 * A class as whoever declares a port for it sees it. Where a member is an object of a class in turn, it is picked from too.
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
  console.log(
    `${packages.size} packages in two versions: ${types.length} types fit each other, ${faults.length} do not`,
  );
  runProgram(project);
}

/** The entries of a package, each with a name for it in a program. */
function entriesOf({ name, folder, manifest }) {
  const entries = Object.entries(manifest.exports ?? {}).filter(([, target]) => target.types !== undefined);
  return entries.map(([subpath, target]) => {
    const specifier = path.posix.join(name, subpath);
    const alias = specifier.replace('@node-agent/', '').replace(/[-/](\w)/g, (_, letter) => letter.toUpperCase());
    return { alias, specifier, declarations: path.join(folder, target.types) };
  });
}

/** One line of TypeScript for each export: the other version's is taken for this one's. */
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

/** What an entry exports, with the text of the declarations that it comes from. Entries list their exports by name. */
function exportsOf(declarations) {
  const text = fs.readFileSync(declarations, 'utf8');
  const lists = [...text.matchAll(/^export (type )?\{([^}]*)\} from '(\.[^']+)';/gm)];
  return lists.flatMap(([, ofTypes, names, from]) => {
    const file = fs.readFileSync(path.join(path.dirname(declarations), from.replace(/\.ts$/, '.d.ts')), 'utf8');
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

/** What kind of declaration a name has, and how many type parameters. */
function declarationOf(text, name, isType) {
  const found = new RegExp(
    `^export (?:declare )?(?:abstract )?(class|interface|type|function|const) ${name}\\b(<)?`,
    'm',
  ).exec(text);
  // What another file declares, and this one passes on.
  if (found === null) return { kind: isType ? 'type' : 'const', parameters: 0 };
  return { kind: found[1], parameters: found[2] ? parametersAt(text, found.index + found[0].length) : 0 };
}

/** How many type parameters follow an opening `<`. */
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
  // One error is a line and those that are indented beneath it.
  const errors = stdout.split(/\n(?=\S)/).filter((text) => /error TS\d+/.test(text));
  if (errors.length === 0) faults.push(`tsc ended with ${status}: ${stdout}${stderr}`);
  for (const error of errors) {
    const line = /^types\.ts\((\d+)/.exec(error)?.[1];
    faults.push(line === undefined ? error : `${lines[line - 1]}\n  ${error.trimEnd()}`);
  }
}

/** Anything but the end that the program means is a fault. */
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
  if (status !== 0 || !stdout.includes('\nall of it works'))
    faults.push(`program.ts ended with ${status ?? signal}\n${stderr}`);
}
