// Writes TypeScript of a .proto: the messages' types, their encoders and decoders, and the services. protobufjs reads the .proto;
// scripts/emit-*.mjs print. Needs no network and no other tool. Called in a package's folder:
//   node ../grpc/scripts/generate.mjs PROTO PACKAGE OUTPUT [--strict] [--methods]
// --strict: texts that are no UTF-8 are refused; --methods: with a class that has every RPC as a method.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import protobuf from 'protobufjs';
import { emitCodec } from './emit-codec.mjs';
import { emitServices } from './emit-services.mjs';
import { emitTypes } from './emit-types.mjs';
import { readSchema } from './schema.mjs';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { strict: { type: 'boolean', default: false }, methods: { type: 'boolean', default: false } },
});
const [proto, space, output] = positionals;
const { root } = protobuf.parse(readFileSync(proto, 'utf8'), new protobuf.Root(), { alternateCommentMode: true });
root.resolveAll();
const schema = readSchema(root.lookup(space));

mkdirSync(output, { recursive: true });
const header = `// Generated from ${proto.replace(/^(\.\.\/)+/, '')} by packages/grpc/scripts/generate.mjs; \`pnpm run generate\` makes it anew.\n`;
for (const [name, text] of Object.entries({
  'types.ts': emitTypes(schema),
  'codec.ts': emitCodec(schema, values.strict),
  'services.ts': emitServices(schema, values.methods),
})) {
  writeFileSync(path.join(output, name), header + text);
}
