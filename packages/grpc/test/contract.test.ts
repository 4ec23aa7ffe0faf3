import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';

/**
 * The contents of upstream's .proto files (k8s.io/kubelet 0.36.3 and github.com/container-storage-interface/spec
 * 1.9.0), with one line for each RPC, message and enum. In a field, `@` precedes the name of its oneof.
 */
const CONTRACTS = readFileSync(new URL('./contracts.txt', import.meta.url), 'utf8')
  .split(/^# /m)
  .filter((part) => part.trim() !== '')
  .map((part) => {
    const [file = '', ...lines] = part.trim().split('\n');
    return [file, lines] as const;
  });

/** Returns the name of a message or enum within its package, such as `VolumeCapability.AccessMode`. */
function local(item: protobuf.ReflectionObject | null, space: protobuf.NamespaceBase): string {
  return item?.fullName.replace(`${space.fullName}.`, '').replace(/^\./, '') ?? '?';
}

function fieldText(field: protobuf.Field, space: protobuf.NamespaceBase): string {
  const type = field.resolvedType === null ? field.type : local(field.resolvedType, space);
  const oneof = field.partOf === null || field.options?.proto3_optional === true ? '' : `@${field.partOf.name}`;
  const list = field.repeated ? '[]' : '';
  const text = field instanceof protobuf.MapField ? `map<${field.keyType},${type}>` : `${type}${list}${oneof}`;
  return ` ${field.id}:${field.name}:${text}`;
}

function tableOf(within: protobuf.NamespaceBase, space: protobuf.NamespaceBase = within): string[] {
  return within.nestedArray.flatMap((item) => {
    if (item instanceof protobuf.Service) {
      return item.methodsArray.map((rpc) => {
        const stream = rpc.responseStream === true ? 'stream ' : '';
        const [request, response] = [local(rpc.resolvedRequestType, space), local(rpc.resolvedResponseType, space)];
        return `rpc ${item.name}.${rpc.name} ${request} -> ${stream}${response}`;
      });
    }
    if (item instanceof protobuf.Enum) {
      const values = Object.entries(item.values).map(([name, id]) => ` ${id}:${name}`);
      return [`enum ${local(item, space)}${values.join('')}`];
    }
    if (!(item instanceof protobuf.Type)) return [];
    const fields = item.fieldsArray.toSorted((a, b) => a.id - b.id).map((field) => fieldText(field, space));
    return [`message ${local(item, space)}${fields.join('')}`, ...tableOf(item, space)];
  });
}

function load(file: string, space: string, options: protobuf.IParseOptions): protobuf.Namespace {
  const text = readFileSync(new URL(`../../../proto/${file}`, import.meta.url), 'utf8');
  const root = new protobuf.Root();
  const { imports = [] } = protobuf.parse(text, root, options);
  for (const name of imports) root.addJSON(protobuf.common.get(name)?.nested ?? {});
  root.resolveAll();
  const found = root.lookup(space);
  if (!(found instanceof protobuf.Namespace)) throw new Error(`no package ${space}`);
  return found;
}

describe('the .proto files of plugins', () => {
  it('there are exactly eight .proto files for plugins', () => {
    expect(CONTRACTS.map(([file]) => file)).toEqual([
      'csi/v1/csi.proto csi.v1',
      'deviceplugin/v1beta1/api.proto v1beta1',
      'dra-health/v1alpha1/api.proto v1alpha1',
      'dra/v1/api.proto k8s.io.kubelet.pkg.apis.dra.v1',
      'dra/v1beta1/api.proto k8s.io.kubelet.pkg.apis.dra.v1beta1',
      'pluginregistration/v1/api.proto pluginregistration',
      'podresources/v1/api.proto v1',
      'podresources/v1alpha1/api.proto v1alpha1',
    ]);
  });

  it.each(CONTRACTS)(
    'the .proto file %s has every RPC, message and field with its name and number, and no other',
    (file, lines) => {
      const [path = '', space = ''] = file.split(' ');
      const found = load(path, space, { keepCase: true });
      expect(tableOf(found).toSorted()).toEqual(lines.toSorted());
    },
  );

  it.each(CONTRACTS)('the .proto file %s has a comment on every RPC, message, enum, field and value', (file) => {
    const [path = '', name = ''] = file.split(' ');
    const space = load(path, name, { alternateCommentMode: true });
    const bare = (within: protobuf.NamespaceBase): string[] =>
      within.nestedArray.flatMap((item) => {
        const own = item.comment === null ? [item.fullName] : [];
        if (item instanceof protobuf.Enum) {
          const values = Object.keys(item.values).filter((value) => !item.comments[value]);
          return [...own, ...values.map((value) => `${item.fullName}.${value}`)];
        }
        const members = item instanceof protobuf.Service ? item.methodsArray : [];
        const fields = item instanceof protobuf.Type ? item.fieldsArray : [];
        own.push(...[...members, ...fields].filter(({ comment }) => comment === null).map((one) => one.fullName));
        return item instanceof protobuf.Namespace ? [...own, ...bare(item)] : own;
      });
    expect(bare(space)).toEqual([]);
  });
});
