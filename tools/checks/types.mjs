// Type-checks all packages. Packages with the shared compiler options are checked in one run of the compiler, because
// a run per package checks the sources of every package again for each package that imports it. Packages with other
// options are checked by their own `typecheck` script.
// The build of a library also checks its sources alone, so that it cannot depend on what another package declares.
// Usage: node tools/checks/types.mjs    (requires generated sources)
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

/** Project of the one run. The file is inside the repository, because the compiler looks for `node_modules` from it. */
const project = path.join(root, `tsconfig.${process.pid}.json`);
const include = [];
const alone = [];
const started = performance.now();
for (const file of workspaceManifests()) {
  const directory = path.dirname(file);
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  if (!scripts?.typecheck) continue;
  const config = JSON.parse(fs.readFileSync(path.join(root, directory, 'tsconfig.json'), 'utf8'));
  if (isShared(config, scripts.typecheck)) include.push(...config.include.map((part) => path.join(directory, part)));
  else alone.push(directory);
}

let failed = 0;
try {
  fs.writeFileSync(project, JSON.stringify({ extends: './tsconfig.base.json', include }));
  run('all other packages', 'tsc', ['-p', project], root);
} finally {
  fs.rmSync(project, { force: true });
}
for (const directory of alone) run(directory, 'pnpm', ['run', '--silent', 'typecheck'], path.join(root, directory));
process.exitCode = failed > 0 ? 1 : 0;

/** Returns whether a package is checked with exactly the shared compiler options. */
function isShared(config, script) {
  return (
    script === 'tsc -p tsconfig.json' &&
    config.extends === '../../tsconfig.base.json' &&
    Object.keys(config).every((key) => key === 'extends' || key === 'include')
  );
}

function run(what, file, args, cwd) {
  const { status, error } = spawnSync(file, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw error;
  if (status !== 0) failed += 1;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${what}: ${status === 0 ? 'ok' : 'FAILED'} after ${seconds} s`);
}
