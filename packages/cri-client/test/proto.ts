import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';

/** The .proto file of this repository as read by protobufjs. The tests compare the generated code with it. */
export function loadProto(options: { readonly keepCase: boolean }): protobuf.Namespace {
  const text = readFileSync(new URL('../../../proto/runtime/v1/api.proto', import.meta.url), 'utf8');
  const { root } = protobuf.parse(text, new protobuf.Root(), options);
  root.resolveAll();
  const space = root.lookup('runtime.v1');
  if (!(space instanceof protobuf.Namespace)) throw new Error('the .proto has no package runtime.v1');
  return space;
}

/** All messages of a package, nested ones too. */
export function allMessages(space: protobuf.NamespaceBase): protobuf.Type[] {
  return space.nestedArray.flatMap((item) => (item instanceof protobuf.Type ? [item, ...allMessages(item)] : []));
}
