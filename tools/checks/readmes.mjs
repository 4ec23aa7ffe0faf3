// Runs the program that each package's README shows: the first ```ts block, against the package as it is built.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

const TIMEOUT_MS = 60_000;
const faults = [];
let count = 0;
for (const file of workspaceManifests()) {
  const directory = path.join(root, path.dirname(file));
  const manifest = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  const readme = path.join(directory, 'README.md');
  if (manifest.private || !fs.existsSync(readme) || path.dirname(file).startsWith('apps/')) continue;
  const program = /^```ts\n([\s\S]*?)^```$/m.exec(fs.readFileSync(readme, 'utf8'))?.[1];
  if (program === undefined) {
    faults.push(`${path.relative(root, readme)}: shows no program in a \`\`\`ts block`);
    continue;
  }
  count += 1;
  // In the package's own folder, so that its name and its dependencies resolve as they do for whoever installs it.
  const script = path.join(directory, '.reports/readme.ts');
  fs.mkdirSync(path.dirname(script), { recursive: true });
  fs.writeFileSync(script, program);
  const result = spawnSync('node', ['--disable-warning=ExperimentalWarning', script], {
    encoding: 'utf8',
    cwd: directory,
    timeout: TIMEOUT_MS,
  });
  if (result.status !== 0 || result.stdout.trim() === '') {
    faults.push(
      `${path.relative(root, readme)}: its program ended with ${result.status ?? result.signal}, printed ${JSON.stringify(result.stdout.slice(0, 200))}\n${result.stderr}`,
    );
  }
}
for (const fault of faults) console.error(fault);
console.log(`${count} README programs ran, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
