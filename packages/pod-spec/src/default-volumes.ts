import type { Volume } from './api.ts';
import { defaultPullPolicy } from './default-pull-policy.ts';

type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number];
type DownwardItems = NonNullable<Volume['downwardAPI']>['items'];

const DEFAULT_MODE = 0o644;

/** Returns a volume with the API server's defaults: an `emptyDir` if it names no source. */
export function defaultVolume(volume: Volume): Volume {
  const sources = Object.entries(volume).filter(([key, value]) => key !== 'name' && value);
  if (sources.length === 0) return { ...volume, emptyDir: {} };
  return { ...volume, ...commonSources(volume), ...networkSources(volume) };
}

function commonSources(volume: Volume): Partial<Volume> {
  const { configMap, downwardAPI, ephemeral, hostPath, image, projected, secret } = volume;
  const template = ephemeral?.volumeClaimTemplate;
  return {
    ...(hostPath ? { hostPath: { ...hostPath, type: hostPath.type ?? '' } } : {}),
    ...(secret ? { secret: { ...secret, defaultMode: secret.defaultMode ?? DEFAULT_MODE } } : {}),
    ...(configMap ? { configMap: { ...configMap, defaultMode: configMap.defaultMode ?? DEFAULT_MODE } } : {}),
    ...(downwardAPI
      ? {
          downwardAPI: {
            ...downwardAPI,
            defaultMode: downwardAPI.defaultMode ?? DEFAULT_MODE,
            ...defaultItems(downwardAPI.items),
          },
        }
      : {}),
    ...(projected
      ? {
          projected: {
            ...projected,
            defaultMode: projected.defaultMode ?? DEFAULT_MODE,
            ...(projected.sources ? { sources: projected.sources.map(defaultProjection) } : {}),
          },
        }
      : {}),
    ...(image ? { image: { ...image, pullPolicy: image.pullPolicy || defaultPullPolicy(image.reference) } } : {}),
    ...(ephemeral && template
      ? {
          ephemeral: {
            ...ephemeral,
            volumeClaimTemplate: {
              ...template,
              spec: { ...template.spec, volumeMode: template.spec?.volumeMode ?? 'Filesystem' },
            },
          },
        }
      : {}),
  };
}

function networkSources(volume: Volume): Partial<Volume> {
  const { azureDisk, iscsi, rbd, scaleIO } = volume;
  return {
    ...(iscsi ? { iscsi: { ...iscsi, iscsiInterface: iscsi.iscsiInterface || 'default' } } : {}),
    ...(rbd
      ? {
          rbd: {
            ...rbd,
            pool: rbd.pool || 'rbd',
            user: rbd.user || 'admin',
            keyring: rbd.keyring || '/etc/ceph/keyring',
          },
        }
      : {}),
    ...(azureDisk
      ? {
          azureDisk: {
            ...azureDisk,
            cachingMode: azureDisk.cachingMode ?? 'ReadWrite',
            fsType: azureDisk.fsType ?? 'ext4',
            readOnly: azureDisk.readOnly ?? false,
            kind: azureDisk.kind ?? 'Shared',
          },
        }
      : {}),
    ...(scaleIO
      ? {
          scaleIO: {
            ...scaleIO,
            storageMode: scaleIO.storageMode || 'ThinProvisioned',
            fsType: scaleIO.fsType || 'xfs',
          },
        }
      : {}),
  };
}

function defaultProjection(source: Projection): Projection {
  const { downwardAPI, serviceAccountToken } = source;
  return {
    ...source,
    ...(downwardAPI ? { downwardAPI: { ...downwardAPI, ...defaultItems(downwardAPI.items) } } : {}),
    ...(serviceAccountToken
      ? {
          serviceAccountToken: {
            ...serviceAccountToken,
            expirationSeconds: serviceAccountToken.expirationSeconds ?? 3600,
          },
        }
      : {}),
  };
}

function defaultItems(items: DownwardItems): { readonly items?: NonNullable<DownwardItems> } {
  if (!items) return {};
  return {
    items: items.map(({ fieldRef, resourceFieldRef, ...item }) => ({
      ...item,
      ...(fieldRef ? { fieldRef: { ...fieldRef, apiVersion: fieldRef.apiVersion || 'v1' } } : {}),
      ...(resourceFieldRef
        ? { resourceFieldRef: { ...resourceFieldRef, divisor: resourceFieldRef.divisor ?? '0' } }
        : {}),
    })),
  };
}
