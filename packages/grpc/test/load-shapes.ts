import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/** The .proto as protobufjs reads it, independently of the generator. Options, unknown to protobufjs, are cut out. */
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
