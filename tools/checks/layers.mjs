// Checks the layers of the repository: every import between packages must point to a lower layer and be listed in
// package.json.
// Usage: node tools/checks/layers.mjs            exits with 1 and prints a line per fault
//        node tools/checks/layers.mjs --picture  prints the packages and their imports as a Mermaid diagram
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

/** Layers from bottom to top. A package may import packages of lower layers, but none of its own layer. */
const ORDER = ['base', 'foundation', 'state', 'client', 'manager', 'core', 'assembly', 'app'];
/** Test kits are outside the layers: they import what they test, and only tests and other kits import them. */
const KIT = 'testkit';
/** Tools are not published. */
const TOOL = 'tool';
/**
 * Apps whose build bundles code of tools. The apps list these tools in devDependencies
 * (docs/decisions/0009-cluster-command.md).
 */
const BUNDLES_TOOLS = new Set(['@node-agent/cluster']);

const packages = new Map();
for (const file of workspaceManifests()) {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  const layer = manifest.nx?.tags?.find((tag) => tag.startsWith('layer:'))?.slice('layer:'.length);
  packages.set(manifest.name, { directory: path.dirname(file), layer, manifest });
}

const faults = [];
/** Imports from the sources of one package to another package, each once. */
const arrows = new Set();
for (const [name, { directory, layer, manifest }] of packages) {
  if (layer === undefined || ![...ORDER, KIT, TOOL].includes(layer)) {
    faults.push(`${directory}/package.json: nx.tags has no known layer: ${layer}`);
    continue;
  }
  const sources = filesBelow(path.join(root, directory, 'src'));
  const tests = filesBelow(path.join(root, directory, 'test'));
  for (const [files, isTest] of [
    [sources, false],
    [tests, true],
  ]) {
    for (const file of files) {
      for (const imported of importsOf(file)) {
        const target = packages.get(imported);
        if (target === undefined || imported === name) continue;
        if (!isTest) arrows.add(`${name} --> ${imported}`);
        const where = path.relative(root, file);
        const isBundled = BUNDLES_TOOLS.has(name) && target.layer === TOOL;
        const declared =
          manifest.dependencies?.[imported] ?? (isTest || isBundled ? manifest.devDependencies?.[imported] : undefined);
        if (!declared) faults.push(`${where}: imports ${imported}, which package.json does not list`);
        const fault = isBundled ? undefined : (isTest ? testFault : sourceFault)(layer, target.layer);
        if (fault) faults.push(`${where}: imports ${imported}: ${fault}`);
      }
    }
  }
}

function sourceFault(from, to) {
  if (from === TOOL) return undefined;
  if (to === TOOL) return 'packages must not import tools';
  if (from === KIT) return to === 'app' ? 'test kits must not import apps' : undefined;
  if (to === KIT) return 'only tests may import test kits';
  return ORDER.indexOf(to) < ORDER.indexOf(from) ? undefined : `layer ${from} must not import layer ${to}`;
}

/**
 * Returns the fault of an import in a test. A test may import kits, tools and lower layers, but a manager's test must
 * not import another manager.
 */
function testFault(from, to) {
  if (from === TOOL || from === KIT || to === KIT || to === TOOL) return undefined;
  return sourceFault(from, to);
}

function filesBelow(directory) {
  if (!fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function importsOf(file) {
  const text = fs.readFileSync(file, 'utf8');
  const names = text.matchAll(/(?:from|import)\s*\(?\s*'(@node-agent\/[a-z0-9-]+)(?:\/[^']*)?'/g);
  return new Set([...names].map((match) => match[1]));
}

/**
 * Returns the packages by layer with an arrow for each import, without the base layer, which almost every package
 * imports.
 */
function picture() {
  const short = (name) => name.replace('@node-agent/', '');
  const shown = [...packages].filter(([, { layer }]) => layer !== TOOL && layer !== 'base');
  const lines = ['graph TD'];
  for (const layer of [KIT, ...ORDER.toReversed()]) {
    const names = shown.filter(([, entry]) => entry.layer === layer).map(([name]) => short(name));
    if (names.length > 0) lines.push(`  subgraph ${layer}`, ...names.map((name) => `    ${name}`), '  end');
  }
  const visible = new Set(shown.map(([name]) => name));
  for (const arrow of [...arrows].sort()) {
    const [from, to] = arrow.split(' --> ');
    if (visible.has(from) && visible.has(to)) lines.push(`  ${short(from)} --> ${short(to)}`);
  }
  return lines.join('\n');
}

if (process.argv.includes('--picture')) console.log(picture());
for (const fault of faults) console.error(fault);
console.error(`${packages.size} packages, ${faults.length} faults in imports`);
process.exit(faults.length > 0 ? 1 : 0);
