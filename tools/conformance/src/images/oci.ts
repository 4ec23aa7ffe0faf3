import { createHash } from 'node:crypto';

/** Container configuration of an image, with the field names of the OCI image specification. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
}

/** Image layer: an uncompressed tar archive. */
export interface Layer {
  readonly digest: string;
  readonly data: Uint8Array;
}

/** Image as a registry stores it. */
export interface Image {
  /** `host/repository:tag`. */
  readonly reference: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Layer[];
}

/** Bytes with their digest. */
export interface Blob {
  readonly digest: string;
  readonly data: Uint8Array;
}

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json';
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar';

/** Returns bytes with their SHA-256 digest. */
export function blob(data: Uint8Array): Blob {
  return { digest: `sha256:${createHash('sha256').update(data).digest('hex')}`, data };
}

/**
 * Builds an image from layers, which several images may share. The reference is stored as a label, so that two tags of
 * the same content have different image IDs. Specs that change a pod's image need different image IDs.
 */
export function image(reference: string, layers: readonly Layer[], config: ImageConfig, architecture: string): Image {
  const json = (value: unknown): Blob => blob(new TextEncoder().encode(JSON.stringify(value)));
  const configBlob = json({
    architecture,
    os: 'linux',
    config: { ...config, Labels: { 'org.opencontainers.image.ref.name': reference } },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const descriptor = (mediaType: string, { digest, data }: Blob): object => ({ mediaType, digest, size: data.length });
  const manifest = json({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(CONFIG_TYPE, configBlob),
    layers: layers.map((layer) => descriptor(LAYER_TYPE, layer)),
  });
  return { reference, manifest, config: configBlob, layers };
}

/** Splits `host/repository:tag` into its parts. @throws RangeError if a part is missing */
export function parseReference(reference: string): {
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
} {
  const [, host, repository, tag] = /^([^/]+)\/([^:@]+):([^:/@]+)$/.exec(reference) ?? [];
  if (host === undefined || repository === undefined || tag === undefined) {
    throw new RangeError(`${reference}: must be HOST/REPOSITORY:TAG`);
  }
  return { host, repository, tag };
}
