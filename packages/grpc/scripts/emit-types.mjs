import { docComment } from './schema.mjs';

const TYPES = { string: 'string', bool: 'boolean', bytes: 'Uint8Array', bigInt64: 'bigint', bigUint64: 'bigint' };

/** Returns the TypeScript type of one element of a field. */
function elementType(field) {
  return field.kind === 'scalar' ? (TYPES[field.type] ?? 'number') : field.type;
}

/** Returns the TypeScript type of a decoded field. Only a single message or a member of a oneof may be absent. */
function fieldType(field) {
  if (field.map) return `Record<string, ${elementType(field)}>`;
  if (field.repeated) return `${elementType(field)}[]`;
  return field.kind === 'message' || field.rivals ? `${elementType(field)} | null` : elementType(field);
}

/**
 * Returns the doc comment of a field. For a member of a oneof, the comment says that at most one member is not null.
 */
function fieldComment({ comment, rivals }) {
  if (!rivals?.length) return comment;
  const note = `At most one of this field and ${rivals.map((name) => `\`${name}\``).join(', ')} is not null.`;
  return comment ? `${comment}\n${note}` : note;
}

/**
 * Returns the source of the types of all enums and messages.
 * @param {import('./schema.mjs').Schema} schema
 */
export function emitTypes({ enums, messages }) {
  let text = enums.length > 0 ? `import type { OpenEnum } from '@node-agent/grpc/wire';\n` : '';
  for (const { name, comment, values } of enums) {
    text += `\n${docComment(comment)}export const ${name} = {\n`;
    for (const value of values) text += `${docComment(value.comment, '  ')}  ${value.name}: ${value.id},\n`;
    text += `} as const;\nexport type ${name} = OpenEnum<typeof ${name}>;\n`;
  }
  for (const { name, comment, fields } of messages) {
    text += `\n${docComment(comment)}export interface ${name} {\n`;
    for (const field of fields) {
      text += `${docComment(fieldComment(field), '  ')}  ${field.name}: ${fieldType(field)};\n`;
    }
    text += '}\n';
  }
  return text;
}
