// Packs packages as they would be published, for a project that wants to install them from this checkout.
// Usage: npm run pack -- [NAME]...    NAME as in packages/NAME, with all that it depends on; without one, every package
import fs from 'node:fs';
import path from 'node:path';
import { nodeProblem, OLDEST_NODE } from '@node-agent/async/node-version';
import { publishedPackages, root, withDependencies } from '../workspace.ts';
import { pack } from './pack.ts';

const names = process.argv.slice(2);
// Said first, and again beside the command: the machine's own Node.js may be older than the one that packs.
const warning = olderNode(process.env.NODE_AGENT_CALLER_NODE);
if (warning !== undefined) console.error(warning);
const all = publishedPackages();
const output = path.join(root, '.packed', names.length === 0 ? 'all' : names.join('+'));
fs.rmSync(output, { recursive: true, force: true });
const packed = pack(output, { packages: names.length === 0 ? all : chosen(names) });
for (const { published, sizeBytes } of packed)
  console.log(`${published.name} ${published.version}, ${sizeBytes} bytes`);
console.log(`\nWhat is packed needs Node.js ${OLDEST_NODE} or newer.\n$ npm install ${path.join(output, '*.tgz')}`);
if (warning !== undefined) console.error(warning);

/** What is wrong with the Node.js of the shell that this was started from; `undefined` if nothing is. */
function olderNode(version: string | undefined): string | undefined {
  const problem = version === undefined ? undefined : nodeProblem(version.replace(/^v/, ''));
  return problem && `Warning: what is packed ${problem}, by the PATH of this shell`;
}

/** A name that is none is the caller's slip: a line tells it, not a stack. */
function chosen(shortNames: readonly string[]): ReturnType<typeof withDependencies> {
  try {
    return withDependencies(all, shortNames);
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exit(2);
  }
}
