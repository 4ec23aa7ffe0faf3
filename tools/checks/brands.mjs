// Two versions of the packages may be installed side by side, and `instanceof` knows the classes of its own copy alone. So
//   - no source asks `instanceof` of a class that it has from another package: it asks the class' `is`, or for a `code`,
//   - every error class that a package exports has an `is` that goes by a brand of the package's and the class' own name.
// What the types have to do with it is checked by two-versions.mjs.
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
      faults.push(
        `${where}: instanceof ${foreign.name}, a class of ${foreign.from}: ask ${foreign.name}.is, or for a code`,
      );
    }
  }
  const exported = entryFiles(directory).flatMap((entry) => exportedNames(sources.get(entry) ?? ''));
  for (const [source, text] of sources) {
    for (const [, error] of text.matchAll(/^export class (\w+) extends \w*Error\b/gm)) {
      if (!exported.includes(error)) continue;
      classes += 1;
      const branded = text.includes(`'${name}.${error}'`) && /^ {2}static \{/m.test(text) && /static is\(/.test(text);
      if (!branded)
        faults.push(`${path.relative(root, source)}: ${error} wants a brand '${name}.${error}' and a static is`);
    }
  }
}
for (const fault of faults) console.error(fault);
console.log(`${classes} error classes with a brand, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);

/** Each `instanceof` of what is imported from another package of this repository. */
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
