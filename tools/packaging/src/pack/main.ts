// Packs packages as they would be published, for projects that want to install them from this checkout.
// Usage: npm run pack -- [NAME]...    packs packages/NAME with all its dependencies; without a name, every package
import fs from 'node:fs';
import path from 'node:path';
import { nodeProblem, OLDEST_NODE } from '@node-agent/async/node-version';
import { publishedPackages, root, withDependencies } from '../workspace.ts';
import { pack } from './pack.ts';

const names = process.argv.slice(2);
// Warning that is printed at the beginning and again with the install command: the Node.js of the calling shell may be
// older than the Node.js that packs.
const warning = olderNode(process.env.NODE_AGENT_CALLER_NODE);
if (warning !== undefined) console.error(warning);
const all = publishedPackages();
const output = path.join(root, '.packed', names.length === 0 ? 'all' : names.join('+'));
fs.rmSync(output, { recursive: true, force: true });
const packed = pack(output, { packages: names.length === 0 ? all : chosen(names) });
for (const { published, sizeBytes } of packed)
  console.log(`${published.name} ${published.version}, ${sizeBytes} bytes`);
console.log(`\nThe packages need Node.js ${OLDEST_NODE} or newer.\n$ npm install ${path.join(output, '*.tgz')}`);
if (warning !== undefined) console.error(warning);

/** Returns the problem of the Node.js in the calling shell, or `undefined` if it is new enough. */
function olderNode(version: string | undefined): string | undefined {
  const problem = version === undefined ? undefined : nodeProblem(version.replace(/^v/, ''));
  return problem && `Warning: by the PATH of this shell, the packed program ${problem}`;
}

/** Exits with one line instead of a stack trace if the caller names an unknown package. */
function chosen(shortNames: readonly string[]): ReturnType<typeof withDependencies> {
  try {
    return withDependencies(all, shortNames);
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exit(2);
  }
}
