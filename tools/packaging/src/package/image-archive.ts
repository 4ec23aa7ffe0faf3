import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { tar } from '@node-agent/tools-containerd';

/** Content of an image. */
export interface ImageContent {
  /** Reference of the image, such as `node-agent.local/kubelet:0.1.0`. */
  readonly reference: string;
  readonly architecture: string;
  /** Content of the single executable file. */
  readonly program: Uint8Array;
  /** Names of the links to the single executable file. */
  readonly links: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Time of creation, in seconds since 1970. */
  readonly seconds: number;
}

/** Returns an image with the single file, as a tar archive of an OCI image layout. Equal content gives equal bytes. */
export function imageArchive({ reference, architecture, program, links, labels, seconds }: ImageContent): Buffer {
  const layer = tar(
    [
      { path: 'usr', mode: 0o755 },
      { path: 'usr/bin', mode: 0o755 },
      { path: 'usr/bin/kubelet', mode: 0o755, data: program },
      ...links.map((name) => ({ path: `usr/bin/${name}`, mode: 0o777, link: 'kubelet' })),
    ],
    seconds,
  );
  const blobs = new Map<string, Uint8Array>();
  const add = (mediaType: string, data: Uint8Array): Descriptor => {
    const digest = sha256(data);
    blobs.set(digest, data);
    return { mediaType, digest: `sha256:${digest}`, size: data.length };
  };
  const created = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  const config = add(
    'application/vnd.oci.image.config.v1+json',
    json({
      created,
      architecture,
      os: 'linux',
      config: { Entrypoint: ['/usr/bin/kubelet'], Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'], Labels: labels },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created, created_by: 'npm run package' }],
    }),
  );
  const layers = [add('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer))];
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = add(mediaType, json({ schemaVersion: 2, mediaType, config, layers }));
  const annotations = {
    // containerd names the image by the first annotation, other tools by the second.
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
  };
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [{ ...manifest, platform: { architecture, os: 'linux' }, annotations }],
  };
  return tar(
    [
      { path: 'oci-layout', mode: 0o644, data: json({ imageLayoutVersion: '1.0.0' }) },
      { path: 'index.json', mode: 0o644, data: json(index) },
      { path: 'blobs', mode: 0o755 },
      { path: 'blobs/sha256', mode: 0o755 },
      ...[...blobs].map(([digest, data]) => ({ path: `blobs/sha256/${digest}`, mode: 0o644, data })),
    ],
    seconds,
  );
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function json(value: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
