import { createHash } from 'node:crypto';

/** What a container of an image is started with, as the OCI image specification names it. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
}

/** A layer: a tar archive that is not compressed. */
export interface Layer {
  readonly digest: string;
  readonly data: Uint8Array;
}

/** An image as a registry has it. */
export interface Image {
  /** Its `host/repository:tag`. */
  readonly reference: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Layer[];
}

/** Bytes under their digest. */
export interface Blob {
  readonly digest: string;
  readonly data: Uint8Array;
}

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json';
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar';

/** Bytes, with the digest that they are asked for by. */
export function blob(data: Uint8Array): Blob {
  return { digest: `sha256:${createHash('sha256').update(data).digest('hex')}`, data };
}

/**
 * An image of layers that may be other images' too. Its reference is among its labels: two tags of the same content are two
 * images, which specs that change a pod's image tell apart.
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

/** The parts of `host/repository:tag`. @throws RangeError where it has not all of them */
export function parseReference(reference: string): {
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
} {
  const [, host, repository, tag] = /^([^/]+)\/([^:@]+):([^:/@]+)$/.exec(reference) ?? [];
  if (host === undefined || repository === undefined || tag === undefined) {
    throw new RangeError(`${reference}: not a host, a repository and a tag`);
  }
  return { host, repository, tag };
}
