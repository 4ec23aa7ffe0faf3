// Writes src/generated from proto/runtime/v1/api.proto: the messages' types, their encoders and decoders, and the
// services. protobufjs reads the .proto; scripts/emit-*.mjs print TypeScript. Needs no network and no other tool.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { emitCodec } from './emit-codec.mjs';
import { emitServices } from './emit-services.mjs';
import { emitTypes } from './emit-types.mjs';
import { readSchema } from './schema.mjs';

const proto = new URL('../../../proto/runtime/v1/api.proto', import.meta.url);
const output = new URL('../src/generated/', import.meta.url);

const { root } = protobuf.parse(readFileSync(proto, 'utf8'), new protobuf.Root(), { alternateCommentMode: true });
root.resolveAll();
const schema = readSchema(root.lookup('runtime.v1'));

mkdirSync(output, { recursive: true });
const header =
  '// Generated from proto/runtime/v1/api.proto by scripts/generate.mjs; `pnpm run generate` makes it anew.\n';
for (const [name, text] of Object.entries({
  'types.ts': emitTypes(schema),
  'codec.ts': emitCodec(schema),
  'services.ts': emitServices(schema),
})) {
  writeFileSync(new URL(name, output), header + text);
}
