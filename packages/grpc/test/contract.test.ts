import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';

/** The contracts as upstream's .proto files have them (k8s.io/kubelet 0.36.3), a line for each RPC and message. */
const CONTRACTS = readFileSync(new URL('./contracts.txt', import.meta.url), 'utf8')
  .split(/^# /m)
  .filter((part) => part.trim() !== '')
  .map((part) => {
    const [file = '', ...lines] = part.trim().split('\n');
    return [file, lines] as const;
  });

const local = (item: { readonly name: string } | null): string => item?.name ?? '?';

function fieldType(field: protobuf.Field): string {
  const type = field.resolvedType === null ? field.type : local(field.resolvedType);
  if (field instanceof protobuf.MapField) return `map<${field.keyType},${type}>`;
  return field.repeated ? `${type}[]` : type;
}

function tableOf(space: protobuf.NamespaceBase): string[] {
  return space.nestedArray.flatMap((item) => {
    if (item instanceof protobuf.Service) {
      return item.methodsArray.map((rpc) => {
        const stream = rpc.responseStream === true ? 'stream ' : '';
        return `rpc ${item.name}.${rpc.name} ${local(rpc.resolvedRequestType)} -> ${stream}${local(rpc.resolvedResponseType)}`;
      });
    }
    if (!(item instanceof protobuf.Type)) return [];
    const fields = item.fieldsArray
      .toSorted((a, b) => a.id - b.id)
      .map((field) => ` ${field.id}:${field.name}:${fieldType(field)}`);
    return [`message ${item.name}${fields.join('')}`];
  });
}

describe('the .proto files of plugins', () => {
  it('there are exactly four .proto files for plugins', () => {
    expect(CONTRACTS.map(([file]) => file)).toEqual([
      'deviceplugin/v1beta1 v1beta1',
      'pluginregistration/v1 pluginregistration',
      'podresources/v1 v1',
      'podresources/v1alpha1 v1alpha1',
    ]);
  });

  it.each(CONTRACTS)(
    'the .proto file %s has every RPC, message and field with its name and number, and no other',
    (file, lines) => {
      const [directory = '', space = ''] = file.split(' ');
      const text = readFileSync(new URL(`../../../proto/${directory}/api.proto`, import.meta.url), 'utf8');
      const { root } = protobuf.parse(text, new protobuf.Root(), { keepCase: true });
      root.resolveAll();
      const found = root.lookup(space);
      if (!(found instanceof protobuf.Namespace)) throw new Error(`no package ${space}`);
      expect(tableOf(found).toSorted()).toEqual(lines.toSorted());
    },
  );
});
