import { writeFile } from 'node:fs/promises';
import { type TarEntry, tar } from '@node-agent/tools-containerd';
import { type Image, MANIFEST_TYPE } from './oci.ts';

/**
 * Writes images to one archive with the layout of the OCI image specification. `ctr images import` gives each image the
 * name in the annotation `io.containerd.image.name`.
 */
export async function writeArchive(images: readonly Image[], file: string): Promise<void> {
  const encoder = new TextEncoder();
  const json = (path: string, value: unknown): TarEntry => ({
    path,
    mode: 0o644,
    data: encoder.encode(JSON.stringify(value)),
  });
  // Images share layers, and an archive must contain each blob once.
  const blobs = new Map(
    images.flatMap(({ manifest, config, layers }) =>
      [manifest, config, ...layers].map(({ digest, data }) => [digest, data] as const),
    ),
  );
  const manifests = images.map(({ reference, manifest: { digest, data } }) => ({
    mediaType: MANIFEST_TYPE,
    digest,
    size: data.length,
    annotations: { 'io.containerd.image.name': reference },
  }));
  await writeFile(
    file,
    tar([
      json('oci-layout', { imageLayoutVersion: '1.0.0' }),
      json('index.json', { schemaVersion: 2, manifests }),
      ...[...blobs].map(
        ([digest, data]): TarEntry => ({ path: `blobs/${digest.replace(':', '/')}`, mode: 0o644, data }),
      ),
    ]),
  );
}
