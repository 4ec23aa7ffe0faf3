// The layers of the repository: every import between packages points down, and says so in its package.json.
// Usage: node tools/checks/layers.mjs            exit code 1, and a line per fault, where the rule is broken
//        node tools/checks/layers.mjs --picture  the packages and their imports, as a Mermaid diagram
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

/** From the bottom up. A package may import from layers below its own, never from its own. */
const ORDER = ['base', 'foundation', 'state', 'client', 'manager', 'core', 'assembly', 'app'];
/** Test kits stand beside the layers: they use what they test, and only tests (and other kits) use them. */
const KIT = 'testkit';
/** Tools are no part of what is published. */
const TOOL = 'tool';

const packages = new Map();
for (const file of workspaceManifests()) {
  const manifest = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  const layer = manifest.nx?.tags?.find((tag) => tag.startsWith('layer:'))?.slice('layer:'.length);
  packages.set(manifest.name, { directory: path.dirname(file), layer, manifest });
}

const faults = [];
/** Each import between two packages' sources, once. */
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
        const declared =
          manifest.dependencies?.[imported] ?? (isTest ? manifest.devDependencies?.[imported] : undefined);
        if (!declared) faults.push(`${where}: imports ${imported}, which package.json does not list`);
        const fault = isTest ? testFault(layer, target.layer) : sourceFault(layer, target.layer);
        if (fault) faults.push(`${where}: imports ${imported}: ${fault}`);
      }
    }
  }
}

function sourceFault(from, to) {
  if (from === TOOL) return undefined;
  if (to === TOOL) return 'tools are no part of a package';
  if (from === KIT) return to === 'app' ? 'a test kit does not use an app' : undefined;
  if (to === KIT) return 'a test kit is for tests only';
  return ORDER.indexOf(to) < ORDER.indexOf(from) ? undefined : `layer ${from} may not import layer ${to}`;
}

/** A test may use kits, tools and what lies below; a manager's test still may not use another manager. */
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

/** The packages by layer, with an arrow for each import; without the base, which almost everything imports. */
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
console.error(`${packages.size} packages, ${faults.length} imports that do not point down`);
process.exit(faults.length > 0 ? 1 : 0);
