import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { imageServiceRpcs, messages, runtimeServiceRpcs } from '../src/index.ts';
import { loadProto } from './proto.ts';

const contract = readFileSync(new URL('./contract.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

const proto = loadProto({ keepCase: true });
const local = (item: { readonly fullName: string } | null): string => item?.fullName.replace('.runtime.v1.', '') ?? '?';

function fieldType(field: protobuf.Field): string {
  const type = field.resolvedType === null ? field.type : local(field.resolvedType);
  if (field instanceof protobuf.MapField) return `map<${field.keyType},${type}>`;
  return field.repeated ? `${type}[]` : type;
}

function tableOf(space: protobuf.NamespaceBase): string[] {
  return space.nestedArray.flatMap((item) => {
    if (item instanceof protobuf.Service) {
      return item.methodsArray.map((rpc) => {
        const [request, response] = [local(rpc.resolvedRequestType), local(rpc.resolvedResponseType)];
        const streams = [rpc.requestStream === true ? 'stream ' : '', rpc.responseStream === true ? 'stream ' : ''];
        return `rpc ${item.name}.${rpc.name} ${streams[0]}${request} -> ${streams[1]}${response}`;
      });
    }
    if (item instanceof protobuf.Enum) {
      const values = Object.entries(item.values).map(([name, id]) => ` ${id}:${name}`);
      return [`enum ${local(item)}${values.join('')}`];
    }
    if (!(item instanceof protobuf.Type)) return [];
    const fields = item.fieldsArray
      .toSorted((a, b) => a.id - b.id)
      .map((field) => ` ${field.id}:${field.name}:${fieldType(field)}`);
    return [`message ${local(item)}${fields.join('')}`, ...tableOf(item)];
  });
}

describe('the .proto file of CRI', () => {
  it('the .proto has every RPC, message, field and enum of CRI v1 with its name and number, and no other', () => {
    expect(contract.length).toBe(222);
    expect(tableOf(proto).toSorted()).toEqual(contract.toSorted());
  });

  it('the .proto documents every RPC, message, enum, field and enum value', () => {
    const text = readFileSync(new URL('../../../proto/runtime/v1/api.proto', import.meta.url), 'utf8');
    const { root } = protobuf.parse(text, new protobuf.Root(), { alternateCommentMode: true });
    const bare = (space: protobuf.NamespaceBase): string[] =>
      space.nestedArray.flatMap((item) => {
        const own = item.comment === null ? [item.fullName] : [];
        if (item instanceof protobuf.Service) {
          return [...own, ...item.methodsArray.filter((rpc) => rpc.comment === null).map((rpc) => rpc.fullName)];
        }
        return item instanceof protobuf.Namespace ? [...own, ...bare(item)] : own;
      });
    expect(bare(root).filter((name) => name !== '.runtime' && name !== '.runtime.v1')).toEqual([]);
  });
});

describe('code that is generated from the .proto file', () => {
  it('the generated code has every message of the .proto', () => {
    const names = contract
      .filter((line) => line.startsWith('message '))
      .map((line) => line.split(' ')[1]?.replace('.', ''));
    expect(Object.keys(messages).toSorted()).toEqual(names.toSorted());
  });

  it('the generated code has every RPC of the .proto', () => {
    const lines = Object.values({ ...runtimeServiceRpcs, ...imageServiceRpcs }).map((rpc) => {
      const [, service, name] = rpc.path.split('/');
      const local = (type: { readonly name: string }): string => type.name.replace('runtime.v1.', '');
      return `rpc ${service?.replace('runtime.v1.', '')}.${name} ${local(rpc.request)} -> ${rpc.stream ? 'stream ' : ''}${local(rpc.response)}`;
    });
    expect(lines.toSorted()).toEqual(contract.filter((line) => line.startsWith('rpc ')).toSorted());
  });
});
