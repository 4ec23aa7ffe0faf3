// Two versions of the packages may be installed side by side, and `instanceof` only recognises classes of its own copy.
// Therefore this script checks two rules:
//   - no source uses `instanceof` with a class of another package of this repository; it must use the class's `is` or a
//     `code`,
//   - every exported error class has an `is` that checks a brand with the names of the package and the class.
// two-versions.mjs checks the types.
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';
import { entryFiles, exportedNames, sourcesOf } from './sources.mjs';

const faults = [];
let classes = 0;
for (const file of workspaceManifests()) {
  const { name } = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  const directory = path.join(root, path.dirname(file));
  const sources = sourcesOf(path.join(directory, 'src'));
  for (const [source, text] of sources) {
    const where = path.relative(root, source);
    for (const foreign of foreignInstances(text, name)) {
      faults.push(`${where}: instanceof ${foreign.name}, a class of ${foreign.from}: use ${foreign.name}.is or a code`);
    }
  }
  const exported = entryFiles(directory).flatMap((entry) => exportedNames(sources.get(entry) ?? ''));
  for (const [source, text] of sources) {
    for (const [, error] of text.matchAll(/^export class (\w+) extends \w*Error\b/gm)) {
      if (!exported.includes(error)) continue;
      classes += 1;
      const branded = text.includes(`'${name}.${error}'`) && /^ {2}static \{/m.test(text) && /static is\(/.test(text);
      if (!branded)
        faults.push(`${path.relative(root, source)}: ${error} must have the brand '${name}.${error}' and a static is`);
    }
  }
}
for (const fault of faults) console.error(fault);
console.log(`${classes} error classes with a brand, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);

/** Returns each `instanceof` with a class that is imported from another package of this repository. */
function foreignInstances(text, own) {
  const imported = new Map();
  for (const [, names, from] of text.matchAll(/^import (?:type )?\{([^}]*)\} from '(@node-agent\/[^']+)'/gm)) {
    for (const one of names.split(','))
      imported.set(
        one
          .trim()
          .replace(/^type /, '')
          .split(' as ')
          .at(-1),
        from,
      );
  }
  for (const [, alias, from] of text.matchAll(/^import \* as (\w+) from '(@node-agent\/[^']+)'/gm))
    imported.set(alias, from);
  return [...text.matchAll(/\binstanceof (\w+)/g)]
    .map(([, name]) => ({ name, from: imported.get(name) }))
    .filter(({ from }) => from !== undefined && from !== own && !from.startsWith(`${own}/`));
}
