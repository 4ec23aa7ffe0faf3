import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { run } from './run.ts';
import { type TarEntry, tar } from './tar.ts';

/** Options of {@link buildImage}. */
export interface BuildImageOptions {
  /** Reference of the image, such as `node-agent.local/busybox:1`. */
  readonly tag: string;
  /** Path of a statically linked busybox. Default: `/bin/busybox`. */
  readonly busybox?: string;
  /** Default command of containers. Default: an endless wait, as in a pause container. */
  readonly command?: readonly string[];
  /** Stop signal of containers; the name need not be valid. Default: the runtime's default. */
  readonly stopSignal?: string;
  /** Path of the archive. */
  readonly file: string;
}

/**
 * Writes a busybox image with a link for each of its commands as an archive in the format of `docker save`. No registry
 * is needed, and the image can also be used as the pause image.
 */
export async function buildImage({
  tag,
  busybox = '/bin/busybox',
  command = ['sleep', 'infinity'],
  stopSignal,
  file,
}: BuildImageOptions): Promise<void> {
  const commands = (await run(busybox, ['--list'])).split('\n').filter((name) => name !== '' && name !== 'busybox');
  const directories = ['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'usr', 'var'];
  const files: Readonly<Record<string, string>> = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n',
    'etc/group': 'root:x:0:\nnobody:x:65534:\n',
  };
  const encoder = new TextEncoder();
  const entries: readonly TarEntry[] = [
    ...directories.map((path): TarEntry => ({ path, mode: 0o755 })),
    { path: 'tmp', mode: 0o1777 },
    { path: 'bin/busybox', mode: 0o755, data: await readFile(busybox) },
    ...commands.map((name): TarEntry => ({ path: `bin/${name}`, mode: 0o777, link: 'busybox' })),
    ...Object.entries(files).map(([path, text]): TarEntry => ({ path, mode: 0o644, data: encoder.encode(text) })),
  ];
  const config = { Env: ['PATH=/bin'], Cmd: command, ...(stopSignal !== undefined && { StopSignal: stopSignal }) };
  await writeImage({ tag, entries, config, file });
}

/** Options of {@link writeImage}. */
export interface WriteImageOptions {
  /** Reference of the image, such as `node-agent.local/coredns:1`. */
  readonly tag: string;
  /** Content of the only layer. */
  readonly entries: readonly TarEntry[];
  /** Container configuration, with the field names of the OCI image specification. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Path of the archive. */
  readonly file: string;
}

/** Writes an image with one layer as an archive in the format of `docker save`. */
export async function writeImage({ tag, entries, config: container, file }: WriteImageOptions): Promise<void> {
  const encoder = new TextEncoder();
  const layer = tar(entries);
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = encoder.encode(
    JSON.stringify({
      architecture,
      os: 'linux',
      config: { ...container, Labels: { 'org.opencontainers.image.title': tag } },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const configName = `${sha256(config)}.json`;
  const manifest = JSON.stringify([{ Config: configName, RepoTags: [tag], Layers: ['layer.tar'] }]);
  await writeFile(
    file,
    tar([
      { path: configName, mode: 0o644, data: config },
      { path: 'layer.tar', mode: 0o644, data: layer },
      { path: 'manifest.json', mode: 0o644, data: encoder.encode(manifest) },
    ]),
  );
}

/** Imports an image archive into containerd's namespace for pods. */
export async function importImage(options: {
  readonly ctr: string;
  readonly socket: string;
  readonly archive: string;
  /** Snapshotter of the pods. Default: `overlayfs`. */
  readonly snapshotter?: string;
}): Promise<void> {
  const { ctr, socket, archive, snapshotter = 'overlayfs' } = options;
  await run(ctr, ['--address', socket, '-n', 'k8s.io', 'images', 'import', '--snapshotter', snapshotter, archive]);
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
