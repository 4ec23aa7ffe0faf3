import protobuf from 'protobufjs';

/**
 * The schema in the form that the emitters read: plain lists in the order of the .proto. The name of a nested enum or
 * message is prefixed with its parent's name (`SecurityProfile.ProfileType` is `SecurityProfileProfileType`).
 *
 * @typedef {{ name: string, comment: string | null, values: { name: string, id: number, comment: string | null }[] }} EnumDefinition
 * The members of a oneof are fields of their message; `rivals` are the other members of the same oneof.
 *
 * @typedef {{ name: string, id: number, comment: string | null, repeated: boolean, map: boolean,
 *   kind: 'scalar' | 'enum' | 'message', type: string, rivals: string[] | null }} Field
 * @typedef {{ name: string, members: string[] }} Oneof
 * @typedef {{ name: string, fullName: string, comment: string | null, fields: Field[], oneofs: Oneof[] }} Message
 * @typedef {{ name: string, fullName: string, comment: string | null, rpcs: { name: string, path: string,
 *   comment: string | null, request: string, response: string, stream: boolean }[] }} Service
 * @typedef {{ enums: EnumDefinition[], messages: Message[], services: Service[] }} Schema
 */

/**
 * Converts a parsed package into the schema.
 * @param {protobuf.Namespace} space
 * @param {boolean} bigint whether 64-bit integers are bigint
 * @returns {Schema}
 */
export function readSchema(space, bigint) {
  const schema = { enums: [], messages: [], services: [] };
  const context = { top: space, bigint, imported: new Set() };
  walk(space, context, schema);
  // Imported messages are emitted into the same file as the messages that refer to them. The loop also visits the
  // messages that it adds to the set.
  for (const item of context.imported) schema.messages.push(readMessage(item, context));
  rejectEqualNames([...schema.enums, ...schema.messages].map(({ name }) => name));
  return schema;
}

function walk(space, context, schema) {
  for (const item of space.nestedArray) {
    if (item instanceof protobuf.Enum) schema.enums.push(readEnum(item, context));
    else if (item instanceof protobuf.Type) {
      schema.messages.push(readMessage(item, context));
      walk(item, context, schema);
    } else if (item instanceof protobuf.Service) schema.services.push(readService(item, context));
  }
}

function rejectEqualNames(names) {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two messages or enums would both be named ${twice}`);
}

function localName(item, context) {
  const names = [];
  for (let at = item; at !== context.top; at = at.parent) {
    if (at === null || at instanceof protobuf.Root) return importedName(item, context);
    names.unshift(at.name);
  }
  return names.join('');
}

/** Returns the name of an imported message. Messages of google.protobuf keep their names: `Timestamp`, `BoolValue`. */
function importedName(item, context) {
  if (!(item instanceof protobuf.Type) || item.parent.fullName !== '.google.protobuf') {
    throw new Error(`${item.fullName} is outside of ${context.top.fullName}: not supported`);
  }
  context.imported.add(item);
  return item.name;
}

function fullName(item) {
  return item.fullName.replace(/^\./, '');
}

function readEnum(item, context) {
  const values = Object.entries(item.values).map(([name, id]) => ({ name, id, comment: item.comments[name] ?? null }));
  return { name: localName(item, context), comment: item.comment, values };
}

function readMessage(item, context) {
  const imported = context.imported.has(item);
  return {
    name: localName(item, context),
    fullName: fullName(item),
    comment: item.comment ?? (imported ? `\`${fullName(item)}\`` : null),
    fields: item.fieldsArray.map((field) => readField(field, context)),
    oneofs: realOneofs(item).map(({ name, fieldsArray }) => ({ name, members: fieldsArray.map((one) => one.name) })),
  };
}

/**
 * Returns the oneofs of a message. protobufjs represents an optional field as a oneof with one member. Such a field is
 * treated like any other field: if it is absent, it gets its default.
 */
function realOneofs(item) {
  return item.oneofsArray.filter(
    ({ fieldsArray }) => !(fieldsArray.length === 1 && fieldsArray[0].options?.proto3_optional === true),
  );
}

const SCALARS = new Set(['string', 'bool', 'int32', 'uint32', 'int64', 'uint64', 'double', 'bytes']);

function readField(field, context) {
  if (field.declaringField) throw new Error(`${field.fullName}: an extension of a message is not supported`);
  const kind = kindOf(field);
  if (field.map && (field.keyType !== 'string' || !(field.type === 'string' || kind === 'message'))) {
    throw new Error(`${field.fullName}: only map<string, string> and maps from string to a message are supported`);
  }
  if (kind === 'scalar' && !SCALARS.has(field.type))
    throw new Error(`${field.fullName}: ${field.type} is not supported`);
  const oneof = realOneofs(field.parent).find(({ fieldsArray }) => fieldsArray.includes(field));
  return {
    name: field.name,
    id: field.id,
    comment: field.comment,
    repeated: field.repeated,
    map: field.map,
    kind,
    type: kind === 'scalar' ? scalarType(field, context) : localName(field.resolvedType, context),
    rivals: oneof?.fieldsArray.filter((one) => one !== field).map((one) => one.name) ?? null,
  };
}

function kindOf({ resolvedType }) {
  if (resolvedType instanceof protobuf.Enum) return 'enum';
  return resolvedType instanceof protobuf.Type ? 'message' : 'scalar';
}

const BIGINTS = { int64: 'bigInt64', uint64: 'bigUint64' };

function scalarType(field, { bigint }) {
  if (!bigint || BIGINTS[field.type] === undefined) return field.type;
  if (field.repeated) throw new Error(`${field.fullName}: a list of bigint is not supported`);
  return BIGINTS[field.type];
}

function readService(service, context) {
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
        request: localName(rpc.resolvedRequestType, context),
        response: localName(rpc.resolvedResponseType, context),
        stream: rpc.responseStream === true,
      };
    }),
  };
}

/** Returns a name in camelCase, as method names have: `RunPodSandbox` becomes `runPodSandbox`. */
export function lowerFirst(name) {
  return name[0].toLowerCase() + name.slice(1);
}

/** Returns a doc comment with the given text, or an empty text if the text is empty. */
export function docComment(text, indent = '') {
  if (!text) return '';
  const lines = text.replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}
