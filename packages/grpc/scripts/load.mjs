import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import protobuf from 'protobufjs';

const require = createRequire(import.meta.url);

/**
 * Parses a .proto and returns one of its packages, resolved. Imports of `google/protobuf/*.proto` are resolved from
 * protobufjs. Options and extensions of options are ignored, because they do not affect the wire format.
 *
 * @param {string} file path of the .proto
 * @param {string} space name of the package
 */
export function loadProto(file, space) {
  const { root, imports = [] } = protobuf.parse(readFileSync(file, 'utf8'), new protobuf.Root(), {
    alternateCommentMode: true,
  });
  for (const name of imports) root.addJSON(importedFile(name, file));
  root.resolveAll();
  const found = root.lookup(space);
  if (!(found instanceof protobuf.Namespace)) throw new Error(`${file}: no package ${space}`);
  return found;
}

function importedFile(name, file) {
  if (name === 'google/protobuf/descriptor.proto') return require('protobufjs/google/protobuf/descriptor.json').nested;
  const known = protobuf.common.get(name);
  if (known === null) throw new Error(`${file}: import of ${name} is not supported`);
  return known.nested;
}
