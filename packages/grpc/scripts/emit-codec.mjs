import { docComment } from './schema.mjs';

/** Wire types: the encoding of the value after a field's tag. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;

const WIRE_TYPES = { string: LENGTH_DELIMITED, bytes: LENGTH_DELIMITED, double: FIXED64 };
const DEFAULTS = { string: `''`, bool: 'false', bytes: 'noBytes', bigInt64: '0n', bigUint64: '0n' };
const READS = {
  string: 'r.string()',
  bool: 'r.bool()',
  bytes: 'r.bytes()',
  double: 'r.double()',
  int32: 'r.int32()',
  uint32: 'r.uint32()',
  int64: 'r.int64()',
  uint64: 'r.uint64()',
  bigInt64: 'r.bigInt64()',
  bigUint64: 'r.bigUint64()',
};

const scalarOf = (field) => (field.kind === 'enum' ? 'int32' : field.type);
const capital = (word) => word[0].toUpperCase() + word.slice(1);
const tagOf = (field, wireType) => field.id * 8 + wireType;
const wireTypeOf = (field) =>
  field.kind === 'message' || field.map ? LENGTH_DELIMITED : (WIRE_TYPES[field.type] ?? VARINT);
/** Reports whether the elements of a repeated field share one tag (packed encoding), as numbers do in proto3. */
const isPacked = (field) => field.repeated && field.kind !== 'message' && wireTypeOf(field) !== LENGTH_DELIMITED;

function defaultOf(field) {
  if (field.map) return '{}';
  if (field.repeated) return '[]';
  return field.kind === 'message' || field.rivals ? 'null' : (DEFAULTS[field.type] ?? '0');
}

function encodeLine(message, field) {
  const value = `m.${field.name}`;
  const where = `'${message.name}.${field.name}'`;
  if (field.map) {
    const put = field.kind === 'message' ? ['putMessageMap', `encode${field.type}, `] : ['putMap', ''];
    return `${put[0]}(w, ${tagOf(field, LENGTH_DELIMITED)}, ${value}, ${put[1]}${where});`;
  }
  if (field.kind === 'message') {
    const put = field.repeated ? 'putMessages' : 'putMessage';
    return `${put}(w, ${tagOf(field, LENGTH_DELIMITED)}, ${value}, encode${field.type}, ${where});`;
  }
  const tag = tagOf(field, isPacked(field) ? LENGTH_DELIMITED : wireTypeOf(field));
  if (field.rivals) return `putMember(w, ${tag}, ${value}, put${capital(scalarOf(field))}, ${where});`;
  return `put${capital(scalarOf(field))}${field.repeated ? 's' : ''}(w, ${tag}, ${value}, ${where});`;
}

function createField(message, field) {
  const value = `m.${field.name}`;
  const where = `'${message.name}.${field.name}'`;
  if (field.map && field.kind === 'message') {
    return `copyMessageMap<${field.type}>(${value}, create${field.type}, ${where})`;
  }
  if (field.map) return `copyMap(${value}, ${where})`;
  if (field.kind === 'message') {
    return `${field.repeated ? 'copyMessages' : 'copyMessage'}<${field.type}>(${value}, create${field.type}, ${where})`;
  }
  if (field.rivals) return `copyMember(${value}, copy${capital(scalarOf(field))}, ${where})`;
  return `copy${capital(scalarOf(field))}${field.repeated ? 's' : ''}(${value}, ${where})`;
}

function decodeCases(field) {
  const value = `m.${field.name}`;
  const tag = tagOf(field, wireTypeOf(field));
  if (field.map) {
    const read =
      field.kind === 'message' ? `readMessageMapEntry(r, ${value}, decode${field.type})` : `readMapEntry(r, ${value})`;
    return [`case ${tag}:`, `  ${read};`, '  break;'];
  }
  if (field.kind === 'message') {
    const read = `readMessage(r, decode${field.type}`;
    return [
      `case ${tag}:`,
      field.repeated ? `  ${value}.push(${read}));` : `  ${value} = ${read}, ${value});`,
      ...clearRivals(field),
      '  break;',
    ];
  }
  const read = READS[scalarOf(field)];
  if (!field.repeated) return [`case ${tag}:`, `  ${value} = ${read};`, ...clearRivals(field), '  break;'];
  const single = [`case ${tag}:`, `  ${value}.push(${read});`, '  break;'];
  if (!isPacked(field)) return single;
  const packed = `  readPacked(r, () => ${value}.push(${read}));`;
  return [...single, `case ${tagOf(field, LENGTH_DELIMITED)}:`, packed, '  break;'];
}

/** Returns the lines that unset the other members of a oneof, because the last member on the wire wins. */
function clearRivals({ rivals }) {
  return (rivals ?? []).map((name) => `  m.${name} = null;`);
}

/** Returns the lines that reject a message in which two members of one oneof are set. */
function checkOneofs({ name, oneofs }) {
  return oneofs
    .filter(({ members }) => members.length > 1)
    .map((oneof) => {
      const members = oneof.members.map((member) => `'${member}'`).join(', ');
      return `  checkOneof(m, [${members}], '${name}.${oneof.name}');\n`;
    })
    .join('');
}

function emitMessage(message) {
  const { name, fields } = message;
  const checks = checkOneofs(message);
  // Fields are written in the order of their numbers, as other protobuf encoders do.
  const encode = fields
    .toSorted((a, b) => a.id - b.id)
    .map((field) => `  ${encodeLine(message, field)}\n`)
    .join('');
  const defaults = fields.map((field) => `${field.name}: ${defaultOf(field)}`).join(', ');
  const cases = fields.flatMap(decodeCases).map((line) => `      ${line}\n`);
  const created = fields.map((field) => `    ${field.name}: ${createField(message, field)},\n`).join('');
  const unused = fields.length === 0 ? '_' : '';
  return `
function encode${name}(${unused}m: Init<${name}>, ${unused}w: Writer): void {
${checks}${encode}}
function decode${name}(r: Reader, end: number, into?: ${name}): ${name} {
  const m: ${name} = into ?? { ${defaults} };
  while (r.pos < end) {
    const tag = r.uint32();
${cases.length === 0 ? '    r.skip(tag);\n' : `    switch (tag) {\n${cases.join('')}      default:\n        r.skip(tag);\n    }\n`}  }
  return m;
}
function create${name}(${unused}m: Init<${name}>): ${name} {
${checks}  return {
${created}  };
}
`;
}

/**
 * Returns the source of the encoders and decoders of all messages.
 * @param {import('./schema.mjs').Schema} schema
 * @param {boolean} strict whether text that is not UTF-8 is rejected
 */
export function emitCodec({ messages }, strict) {
  const bodies = messages.map(emitMessage).join('');
  const make = strict ? 'strictMessageType' : 'messageType';
  const names = /\b(?:copy|put|read|check)[A-Z]\w*(?=[(<])|(?<=, )(?:copy|put)[A-Z]\w*(?=, ')|\bnoBytes\b/g;
  const helpers = [...new Set([make, ...(bodies.match(names) ?? [])])].sort().join(', ');
  const entries = messages.map(({ name, fullName, comment }) => {
    const type = `MessageType<${name}>`;
    return {
      declared: `${docComment(comment, '  ')}  readonly ${name}: ${type};\n`,
      made: `  ${name}: /* @__PURE__ */ ${make}('${fullName}', encode${name}, decode${name}, create${name}),\n`,
    };
  });
  return `import { type Init, type MessageType, type Reader, type Writer, ${helpers} } from '@node-agent/grpc/wire';
import type {
${messages.map(({ name }) => `  ${name},\n`).join('')}} from './types.ts';
${bodies}
/** Encoder and decoder of each message, by its name in the .proto. */
export const messages: {
${entries.map((entry) => entry.declared).join('')}} = {
${entries.map((entry) => entry.made).join('')}};
`;
}
