import protobuf from 'protobufjs';

/**
 * The schema as the emitters want it: plain lists in the order of the .proto. A nested enum or message gets its
 * parent's name in front (`SecurityProfile.ProfileType` is `SecurityProfileProfileType`).
 *
 * @typedef {{ name: string, comment: string | null, values: { name: string, id: number, comment: string | null }[] }} EnumDefinition
 * @typedef {{ name: string, id: number, comment: string | null, repeated: boolean, map: boolean,
 *   kind: 'scalar' | 'enum' | 'message', type: string }} Field
 * @typedef {{ name: string, fullName: string, comment: string | null, fields: Field[] }} Message
 * @typedef {{ name: string, fullName: string, comment: string | null, rpcs: { name: string, path: string,
 *   comment: string | null, request: string, response: string, stream: boolean }[] }} Service
 * @typedef {{ enums: EnumDefinition[], messages: Message[], services: Service[] }} Schema
 */

/** @param {protobuf.Namespace} space @returns {Schema} */
export function readSchema(space) {
  const schema = { enums: [], messages: [], services: [] };
  walk(space, space, schema);
  return schema;
}

function walk(space, top, schema) {
  for (const item of space.nestedArray) {
    if (item instanceof protobuf.Enum) schema.enums.push(readEnum(item, top));
    else if (item instanceof protobuf.Type) {
      schema.messages.push(readMessage(item, top));
      walk(item, top, schema);
    } else if (item instanceof protobuf.Service) schema.services.push(readService(item, top));
  }
}

function localName(item, top) {
  const names = [];
  for (let at = item; at !== top; at = at.parent) names.unshift(at.name);
  return names.join('');
}

function fullName(item) {
  return item.fullName.replace(/^\./, '');
}

function readEnum(item, top) {
  const values = Object.entries(item.values).map(([name, id]) => ({ name, id, comment: item.comments[name] ?? null }));
  return { name: localName(item, top), comment: item.comment, values };
}

function readMessage(item, top) {
  // The parser represents an optional field as a oneof of its own. It is handled like other fields: an absent field is
  // empty.
  if (item.oneofsArray.some((oneof) => !isOptional(oneof))) throw new Error(`${item.fullName}: oneof is not supported`);
  return {
    name: localName(item, top),
    fullName: fullName(item),
    comment: item.comment,
    fields: item.fieldsArray.map((field) => readField(field, top)),
  };
}

function isOptional({ fieldsArray }) {
  return fieldsArray.length === 1 && fieldsArray[0].options?.proto3_optional === true;
}

const SCALARS = new Set(['string', 'bool', 'int32', 'uint32', 'int64', 'uint64', 'double', 'bytes']);

function readField(field, top) {
  if (field.map && (field.keyType !== 'string' || field.type !== 'string')) {
    throw new Error(`${field.fullName}: only map<string, string> is supported`);
  }
  const kind =
    field.resolvedType instanceof protobuf.Enum
      ? 'enum'
      : field.resolvedType instanceof protobuf.Type
        ? 'message'
        : 'scalar';
  if (kind === 'scalar' && !SCALARS.has(field.type))
    throw new Error(`${field.fullName}: ${field.type} is not supported`);
  return {
    name: field.name,
    id: field.id,
    comment: field.comment,
    repeated: field.repeated,
    map: field.map,
    kind,
    type: kind === 'scalar' ? field.type : localName(field.resolvedType, top),
  };
}

function readService(service, top) {
  return {
    name: service.name,
    fullName: fullName(service),
    comment: service.comment,
    rpcs: service.methodsArray.map((rpc) => {
      rpc.resolve();
      if (rpc.requestStream) throw new Error(`${rpc.fullName}: a stream of requests is not supported`);
      return {
        name: rpc.name,
        path: `/${fullName(service)}/${rpc.name}`,
        comment: rpc.comment,
        request: localName(rpc.resolvedRequestType, top),
        response: localName(rpc.resolvedResponseType, top),
        stream: rpc.responseStream === true,
      };
    }),
  };
}

/** Returns a name in camelCase, which methods have (`RunPodSandbox` becomes `runPodSandbox`). */
export function lowerFirst(name) {
  return name[0].toLowerCase() + name.slice(1);
}

/** Returns a doc comment with this text; nothing if the text is empty. */
export function docComment(text, indent = '') {
  if (!text) return '';
  const lines = text.replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}
