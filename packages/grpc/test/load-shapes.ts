import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/**
 * Parses a .proto with protobufjs, independently of the generator. Options that protobufjs cannot parse are removed
 * first.
 */
export function loadProto(file: string): protobuf.Root {
  const text = readFileSync(file, 'utf8')
    .replace(/extend [^}]*\}/, '')
    .replace(/ \[\(secret\) = true\]/, '');
  const root = new protobuf.Root();
  for (const name of ['timestamp', 'wrappers']) {
    root.addJSON(protobuf.common.get(`google/protobuf/${name}.proto`)?.nested ?? {});
  }
  protobuf.parse(text, root);
  root.resolveAll();
  return root;
}
