// Checks that common components are optional: in the components of a published class or function, clock, random,
// logger, metrics and recorder must have defaults (`withDefaults` of telemetry). A program that imports one package
// then only passes components that matter to it.
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';
import { entryFiles, exportedNames, sourcesOf } from './sources.mjs';

/** Packages that assemble a whole node or simulate one, so that their components are mandatory. */
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
          `${path.relative(root, source)}: ${interfaceName}.${port} has a common default and must be optional`,
        );
      }
    }
  }
}
for (const fault of faults) console.error(fault);
console.log(`${count} component interfaces, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
