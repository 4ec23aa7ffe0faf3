// Compares the CPU cost of a pod as JSON and as protobuf (`contentType`), in both directions. The result is the reason
// for docs/decisions/0013-json-to-the-api-server.md. Usage: node [V8 flags] tools/bench/src/content-type/main.mjs
// MODULES POD MODULES directory with k8s.io/api@VERSION and k8s.io/apimachinery@VERSION, such as $(go env GOMODCACHE)
// POD JSON of a pod: kubectl get pod NAME -o json --show-managed-fields The kubelet's flags are --no-maglev
// --no-turbofan. The cost of converting between protobuf messages and API objects (times, quantities, inlined messages)
// is not counted, which favours protobuf.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Reader } from '../../../../packages/grpc/src/reader.ts';

const protobuf = createRequire(new URL('../../../../packages/grpc/package.json', import.meta.url))('protobufjs');
const [modules, file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: main.mjs MODULES POD');

const ROUNDS = 5;
const CALLS = 3_000;
const WARM_UP = 500;
/** Messages whose fields JSON inlines into the object that contains them. */
const INLINED = ['volumeSource', 'handler', 'localObjectReference'];

const Pod = podType();
const json = JSON.parse(readFileSync(file, 'utf8'));
const text = Buffer.from(JSON.stringify(json));
const message = Pod.fromObject(toMessage(Pod, json));
const binary = Buffer.from(Pod.encode(message).finish());
console.log(`JSON ${text.length} bytes, protobuf ${binary.length} bytes`);
measure('JSON: bytes to object', () => JSON.parse(text.toString()));
measure('protobuf: bytes to object, protobufjs', () => Pod.decode(binary));
measure('protobuf: bytes to object, Reader of packages/grpc', () => decode(Pod, new Reader(binary), binary.length));
measure('JSON: object to bytes', () => Buffer.from(JSON.stringify(json)));
measure('protobuf: object to bytes, protobufjs', () => Pod.encode(message).finish());

function podType() {
  const root = new protobuf.Root();
  const folders = readdirSync(path.join(modules, 'k8s.io'));
  root.resolvePath = (_from, target) => {
    const [, name, rest] = /^k8s\.io\/(api|apimachinery)\/(.*)$/.exec(target) ?? [];
    const folder = folders.filter((each) => each.startsWith(`${name}@`)).at(-1);
    if (folder === undefined) throw new Error(`${target}: not in ${modules}`);
    return path.join(modules, 'k8s.io', folder, rest);
  };
  root.loadSync('k8s.io/api/core/v1/generated.proto', { keepCase: true });
  return root.lookupType('k8s.io.api.core.v1.Pod');
}

function measure(name, call) {
  for (let i = 0; i < WARM_UP; i++) call();
  const costs = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let i = 0; i < CALLS; i++) call();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / CALLS;
  });
  console.log(`${name.padEnd(52)} ${Math.min(...costs).toFixed(1)} µs of CPU`);
}

/** Converts a parsed JSON object into a protobuf message of `type`. */
function toMessage(type, value) {
  const result = {};
  for (const field of type.fieldsArray) {
    const given = value?.[field.name];
    if (given === undefined || given === null) continue;
    const convert = (item) => toField(field.resolve(), item);
    if (field.map) result[field.name] = mapValues(given, convert);
    else result[field.name] = field.repeated ? given.map(convert) : convert(given);
  }
  for (const field of type.fieldsArray.filter(({ name }) => INLINED.includes(name))) {
    const inlined = toMessage(field.resolve().resolvedType, value);
    if (Object.keys(inlined).length > 0) result[field.name] ??= inlined;
  }
  return result;
}

function toField(field, item) {
  switch (field.resolvedType?.name) {
    case undefined:
      return item;
    case 'Time':
    case 'MicroTime':
      return { seconds: Math.floor(Date.parse(item) / 1000), nanos: 0 };
    case 'Quantity':
      return { string: item };
    case 'IntOrString':
      return typeof item === 'number' ? { type: 0, intVal: item } : { type: 1, strVal: item };
    case 'FieldsV1':
      return { Raw: Buffer.from(JSON.stringify(item)) };
    default:
      return toMessage(field.resolvedType, item);
  }
}

function mapValues(map, convert) {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, convert(value)]));
}

/** Decodes a message by the field table of its type. Per field, this does the same as a lean generated decoder. */
function decode(type, reader, end) {
  const result = {};
  while (reader.pos < end) {
    const tag = reader.uint32();
    const field = type.fieldsById[tag >>> 3];
    if (field === undefined) {
      reader.skip(tag);
    } else if (field.map) {
      result[field.name] = Object.assign(result[field.name] ?? {}, decodeEntry(field.resolve(), reader));
    } else if (field.repeated) {
      result[field.name] ??= [];
      result[field.name].push(decodeField(field.resolve(), reader));
    } else {
      result[field.name] = decodeField(field.resolve(), reader);
    }
  }
  return result;
}

function decodeField({ type, resolvedType }, reader) {
  if (resolvedType instanceof protobuf.Type) return decode(resolvedType, reader, reader.endOfNext());
  switch (type) {
    case 'string':
      return reader.string();
    case 'bool':
      return reader.bool();
    case 'bytes':
      return reader.bytes();
    case 'int64':
      return reader.int64();
    default:
      return reader.int32();
  }
}

function decodeEntry(field, reader) {
  const end = reader.endOfNext();
  let key = '';
  let value;
  while (reader.pos < end) {
    if (reader.uint32() === 10) key = reader.string();
    else value = decodeField(field, reader);
  }
  return { [key]: value };
}
