// Copies the declarations of the library yaml into dist, so that users of this package need not install the library.
// The library's declarations import each other without file extensions, which ES modules do not allow.
import fs from 'node:fs';
import path from 'node:path';

const from = path.join('node_modules', 'yaml', 'dist');
const to = path.join('dist', 'yaml');
for (const name of fs.readdirSync(from, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue;
  const text = fs.readFileSync(path.join(from, name), 'utf8');
  const target = path.join(to, name);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, text.replaceAll(/((?:from|import\()\s*')(\.[^']*?)(?:\.js)?'/g, "$1$2.js'"));
}
const index = path.join('dist', 'index.d.ts');
fs.writeFileSync(index, fs.readFileSync(index, 'utf8').replaceAll("from 'yaml'", "from './yaml/index.js'"));
