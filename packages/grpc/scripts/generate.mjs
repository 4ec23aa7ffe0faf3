// Generates TypeScript from a .proto: the messages' types, their encoders and decoders, and the services. protobufjs
// reads the .proto; scripts/emit-*.mjs print the source. The script needs no network and no other tool. It is called in
// a package's folder: node ../grpc/scripts/generate.mjs PROTO PACKAGE OUTPUT [--strict] [--methods] [--bigint]
// [--services NAMES] --strict: text that is not UTF-8 is rejected; --methods: with a class that has every RPC as a
// method; --bigint: 64-bit integers are bigint, exact in their whole range, instead of number; --services: only these
// services, separated by commas, and the messages and enums that they use.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { emitCodec } from './emit-codec.mjs';
import { emitServices } from './emit-services.mjs';
import { emitTypes } from './emit-types.mjs';
import { loadProto } from './load.mjs';
import { onlyServices } from './only-services.mjs';
import { readSchema } from './schema.mjs';

const flag = { type: 'boolean', default: false };
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { strict: flag, methods: flag, bigint: flag, services: { type: 'string' } },
});
const [proto, space, output] = positionals;
const schema = onlyServices(readSchema(loadProto(proto, space), values.bigint), values.services?.split(','));

mkdirSync(output, { recursive: true });
const header = `// Generated from ${proto.replace(/^(\.\.\/)+/, '')} by packages/grpc/scripts/generate.mjs; \`pnpm run generate\` makes it anew.\n`;
for (const [name, text] of Object.entries({
  'types.ts': emitTypes(schema),
  'codec.ts': emitCodec(schema, values.strict),
  'services.ts': emitServices(schema, values.methods),
})) {
  writeFileSync(path.join(output, name), header + text);
}
