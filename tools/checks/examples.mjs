// Checks that the programs in examples/packages are equal to those in the packages' READMEs (the first ```ts block of
// each).
// Usage: node tools/checks/examples.mjs            exits with 1 and prints a line per file that differs
//        node tools/checks/examples.mjs --write    writes the files
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';

const folder = path.join(root, 'examples/packages');
const wanted = new Map();
for (const name of fs.readdirSync(path.join(root, 'packages'))) {
  const readme = path.join(root, 'packages', name, 'README.md');
  if (!fs.existsSync(readme)) continue;
  const program = /^```ts\n([\s\S]*?)^```$/m.exec(fs.readFileSync(readme, 'utf8'))?.[1];
  if (program !== undefined)
    wanted.set(`${name}.ts`, `// From packages/${name}/README.md, which explains the program.\n${program}`);
}

const present = new Map(
  fs.existsSync(folder)
    ? fs.readdirSync(folder).map((file) => [file, fs.readFileSync(path.join(folder, file), 'utf8')])
    : [],
);
if (process.argv.includes('--write')) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  for (const [file, text] of wanted) fs.writeFileSync(path.join(folder, file), text);
} else {
  const names = new Set([...wanted.keys(), ...present.keys()]);
  const differing = [...names].filter((file) => wanted.get(file) !== present.get(file));
  for (const file of differing) console.error(`examples/packages/${file}: differs from the README`);
  if (differing.length > 0) console.error('write them with: node tools/checks/examples.mjs --write');
  process.exitCode = differing.length > 0 ? 1 : 0;
}
console.log(`${wanted.size} example programs`);
