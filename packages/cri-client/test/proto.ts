import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/**
 * Returns the .proto file of this repository as protobufjs reads it. The tests compare the generated code with this
 * result.
 */
export function loadProto(options: { readonly keepCase: boolean }): protobuf.Namespace {
  const text = readFileSync(new URL('../../../proto/runtime/v1/api.proto', import.meta.url), 'utf8');
  const { root } = protobuf.parse(text, new protobuf.Root(), options);
  root.resolveAll();
  const space = root.lookup('runtime.v1');
  if (!(space instanceof protobuf.Namespace)) throw new Error('the .proto has no package runtime.v1');
  return space;
}

/** Returns all messages of a package, including nested messages. */
export function allMessages(space: protobuf.NamespaceBase): protobuf.Type[] {
  return space.nestedArray.flatMap((item) => (item instanceof protobuf.Type ? [item, ...allMessages(item)] : []));
}
