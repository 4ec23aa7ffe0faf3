import { isDeepStrictEqual } from 'node:util';
import type { KubeletConfiguration } from '../generated/kubelet-configuration.ts';
import type { Field } from '../schema/field.ts';
import { configurationFields } from '../schema/kubelet-configuration.ts';

/** The effect of a configuration that was read again while the kubelet runs. */
export interface ReloadPlan {
  /** The running configuration with the new values of the fields that can change while the kubelet runs. */
  readonly configuration: KubeletConfiguration;
  /** Paths of the changed fields that take effect now, in the order of the table. */
  readonly live: readonly string[];
  /** Paths of the changed fields that take effect with the next start. */
  readonly restart: readonly string[];
}

/**
 * Compares the running configuration with a newly loaded, valid configuration. Changes of fields without effect are
 * applied but not listed. The resulting configuration is valid, because no validation rule combines a live field with a
 * field that needs a restart.
 */
export function planReload(running: KubeletConfiguration, loaded: KubeletConfiguration): ReloadPlan {
  const live: string[] = [];
  const restart: string[] = [];
  const changes = { live, restart };
  const merged = merge(configurationFields, recordOf(running), recordOf(loaded), '', changes);
  return { configuration: merged as unknown as KubeletConfiguration, live, restart };
}

type Values = Readonly<Record<string, unknown>>;

function merge(
  fields: readonly Field[],
  before: Values,
  after: Values,
  prefix: string,
  changes: { readonly live: string[]; readonly restart: string[] },
): Record<string, unknown> {
  const members: [string, unknown][] = [];
  for (const { name, property, type, support, reload } of fields) {
    const path = prefix + name;
    const [old, next] = [before[property], after[property]];
    let value = old;
    if (type.kind === 'object' && isRecord(old) && isRecord(next)) {
      value = merge(type.fields, old, next, `${path}.`, changes);
    } else if (!isDeepStrictEqual(old, next)) {
      if (support.state === 'inert') value = next;
      else if (reload === 'live') {
        value = next;
        changes.live.push(path);
      } else changes.restart.push(path);
    }
    if (value !== undefined) members.push([property, value]);
  }
  return Object.fromEntries(members);
}

function recordOf(configuration: KubeletConfiguration): Values {
  return configuration as unknown as Values;
}

function isRecord(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
