// A program that imports one package gives it what it has, and nothing for form's sake: in the components that a published class
// or function takes, clock, random, logger, metrics and recorder may be left out (`withDefaults` of telemetry).
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';
import { entryFiles, exportedNames, sourcesOf } from './sources.mjs';

/** They join a whole node, or run in its place: what they are made with is to be said. */
const WHOLE = new Set(['@node-agent/kubelet', '@node-agent/kubelet-assembly', '@node-agent/simulation']);
const COMMON = /^ {2}readonly (clock|random|logger|metrics|recorder): /gm;

const faults = [];
let count = 0;
for (const file of workspaceManifests()) {
  const { name, private: isPrivate } = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  if (isPrivate || WHOLE.has(name)) continue;
  const directory = path.join(root, path.dirname(file));
  const sources = sourcesOf(path.join(directory, 'src'));
  const exported = new Set(entryFiles(directory).flatMap((entry) => exportedNames(sources.get(entry) ?? '')));
  for (const [source, text] of sources) {
    for (const [, interfaceName, body] of text.matchAll(
      /^export interface (\w+Components)\b[^{]*\{\n([\s\S]*?)^\}/gm,
    )) {
      if (!exported.has(interfaceName)) continue;
      count += 1;
      for (const [, port] of body.matchAll(COMMON)) {
        faults.push(
          `${path.relative(root, source)}: ${interfaceName}.${port} has a default for everybody: make it optional`,
        );
      }
    }
  }
}
for (const fault of faults) console.error(fault);
console.log(`${count} kinds of components, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
